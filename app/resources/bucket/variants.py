"""Stored forms of an asset: the original and its smaller widths."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hmac import compare_digest
from typing import BinaryIO, cast

from app.core.errors import AppError, NotFound, PermissionDenied
from app.core.limits import UploadLimits
from app.database import session
from app.drivers.storage.port import ObjectMissing, ObjectStore
from app.images.worker import remake
from app.models.media import MediaAsset
from app.resources.bucket import service
from app.resources.bucket.storage_keys import is_key, signature, variant_key


@dataclass(frozen=True)
class StoredPiece:
    """An object to send: its key in the store, and its ETag without quotes."""

    key: str
    tag: str
    size: int
    mimetype: str


def original(key: str) -> MediaAsset:
    """Return the asset with this key. Raises NotFound, also for a malformed key."""
    asset = service.stored(key) if is_key(key) else None
    if asset is None:
        raise NotFound("The image does not exist")
    return asset


def whole(asset: MediaAsset) -> StoredPiece:
    """Return the asset in its original width."""
    return StoredPiece(asset.key, asset.hash, asset.size, asset.mimetype)


def resized(
    asset: MediaAsset, width: int, signed: str, *, secret: str, limits: UploadLimits, store: ObjectStore
) -> StoredPiece:
    """Return the asset at that width; the original if it is not wider. The first request creates and stores the variant.

    Raises:
        PermissionDenied: the signature of the URL is invalid.
    """
    if not compare_digest(signed.encode(), signature(asset.key, width, secret).encode()):
        raise PermissionDenied("The image URL has no valid signature", code="INVALID_SIGNATURE")
    piece, key = whole(asset), variant_key(asset.key, width)
    if width >= asset.width:
        return piece
    session.release_connection()
    stored = store.head(key)
    size = stored.size if stored is not None else _create(piece, key, width, limits, store)
    return StoredPiece(key, f"{piece.tag}-{width}", size, piece.mimetype)


def read(piece: StoredPiece, store: ObjectStore, *, start: int = 0, length: int | None = None) -> Iterator[bytes]:
    """Return the bytes of an object. Raises NotFound if the store has no such object."""
    try:
        return store.get(piece.key, start=start, length=length)
    except ObjectMissing as error:
        raise NotFound("The image does not exist") from error


def _create(piece: StoredPiece, key: str, width: int, limits: UploadLimits, store: ObjectStore) -> int:
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as output:
        for chunk in read(piece, store):
            source.write(chunk)
        try:
            picture = remake(cast("BinaryIO", source), cast("BinaryIO", output), limits, width=width)
        except AppError as error:
            raise NotFound("The image cannot be resized") from error
        store.put(key, cast("BinaryIO", output), mimetype=piece.mimetype)
        return picture.size
