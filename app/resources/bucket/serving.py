"""Assets as answers: whole or in part, cached for ever, harmless wherever they are opened."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hmac import compare_digest
from typing import BinaryIO, cast

from flask import Request, Response
from werkzeug.datastructures import Headers
from werkzeug.http import is_resource_modified

from app import transactions
from app.core.errors import AppError, NotAllowed, NotFound
from app.core.imaging import remake
from app.core.limits import UploadLimits
from app.drivers.storage.port import ObjectMissing, ObjectStore
from app.models.media import MediaAsset
from app.resources.bucket import service
from app.resources.bucket.keys import is_key, signature, variant_key

HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Accept-Ranges": "bytes",
}


@dataclass(frozen=True)
class Piece:
    """An object to be sent: its key in the store, its ETag without quotes."""

    key: str
    tag: str
    size: int
    mimetype: str


def original(key: str) -> MediaAsset:
    """The asset under a key. Raises NotFound, also for what is no key at all."""
    asset = service.stored(key) if is_key(key) else None
    if asset is None:
        raise NotFound("There is no such picture")
    return asset


def whole(asset: MediaAsset) -> Piece:
    """The asset as it was stored."""
    return Piece(asset.key, asset.hash, asset.size, asset.mimetype)


def resized(
    asset: MediaAsset, width: int, given: str, *, secret: str, limits: UploadLimits, store: ObjectStore
) -> Piece:
    """The asset at that width, made the first time and kept beside it; the original where it is no wider.

    Raises:
        NotAllowed: the address is not signed by this service.
    """
    if not compare_digest(given.encode(), signature(asset.key, width, secret).encode()):
        raise NotAllowed("The address of this picture is not signed", code="INVALID_SIGNATURE")
    if width >= asset.width:
        return whole(asset)
    piece, key = whole(asset), variant_key(asset.key, width)
    transactions.rest()
    known = store.head(key)
    size = known.size if known is not None else _make(piece, key, width, limits, store)
    return Piece(key, f"{piece.tag}-{width}", size, piece.mimetype)


def answer(piece: Piece, request: Request, store: ObjectStore) -> Response:
    """The response: 200, 206 for a range, 304 for who has it, 416 for a range beyond its end."""
    headers = Headers({**HEADERS, "ETag": f'"{piece.tag}"', "Content-Type": piece.mimetype})
    if not is_resource_modified(request.environ, etag=piece.tag, ignore_if_range=True):
        headers.remove("Content-Type")
        return Response(status=304, headers=headers)
    wanted = _range(request, piece)
    if wanted is None:
        return _part(piece, headers, 0, piece.size, request, store)
    start, end = wanted
    if not 0 <= start < end:
        return Response(status=416, headers={"Content-Range": f"bytes */{piece.size}"})
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{piece.size}"
    return _part(piece, headers, start, end, request, store)


def _range(request: Request, piece: Piece) -> tuple[int, int] | None:
    """The one range asked for, its end exclusive; None for the whole: several ranges, or of another state."""
    asked = request.range
    if asked is None or asked.units != "bytes" or len(asked.ranges) != 1:
        return None
    state = request.if_range
    if (state.etag is not None or state.date is not None) and state.etag != piece.tag:
        return None
    return asked.range_for_length(piece.size) or (0, 0)


def _part(piece: Piece, headers: Headers, start: int, end: int, request: Request, store: ObjectStore) -> Response:
    headers["Content-Length"] = str(end - start)
    status = 206 if "Content-Range" in headers else 200
    if request.method == "HEAD":
        return Response(status=status, headers=headers)
    try:
        chunks = store.get(piece.key, start=start, length=end - start)
    except ObjectMissing as error:
        raise NotFound("There is no such picture") from error
    return Response(chunks, status, headers, direct_passthrough=True)


def _make(piece: Piece, key: str, width: int, limits: UploadLimits, store: ObjectStore) -> int:
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as made:
        for chunk in _read(piece, store):
            source.write(chunk)
        try:
            picture = remake(cast("BinaryIO", source), cast("BinaryIO", made), limits, width=width)
        except AppError as error:
            raise NotFound("This picture cannot be resized") from error
        store.put(key, cast("BinaryIO", made), mimetype=piece.mimetype)
        return picture.size


def _read(piece: Piece, store: ObjectStore) -> Iterator[bytes]:
    try:
        yield from store.get(piece.key)
    except ObjectMissing as error:
        raise NotFound("There is no such picture") from error
