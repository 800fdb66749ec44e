"""Responses with assets: their URLs, and their bytes as a whole or in ranges."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hmac import compare_digest
from typing import BinaryIO, cast

from flask import Request, Response, redirect
from werkzeug.datastructures import Headers
from werkzeug.http import is_resource_modified

from app.core.errors import AppError, NotFound, PermissionDenied, ServiceUnavailable
from app.core.limits import UploadLimits
from app.database import transactions
from app.drivers.storage.port import ObjectMissing, ObjectStore
from app.images.worker import remake, uploads
from app.models.media import MediaAsset
from app.resources.bucket import service
from app.resources.bucket.schemas import VariantQuery
from app.resources.bucket.storage_keys import WIDTHS, is_key, signature, variant_key
from config import Settings

MEDIA = "/media"
FIELDS = ("key", "mimetype", "size", "width", "height", "hash")
HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Accept-Ranges": "bytes",
}


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
    """Return the asset at that width; the original if it is not wider.

    The first request creates and stores the variant.

    Raises:
        PermissionDenied: the signature of the URL is invalid.
    """
    if not compare_digest(signed.encode(), signature(asset.key, width, secret).encode()):
        raise PermissionDenied("The image URL has no valid signature", code="INVALID_SIGNATURE")
    piece, key = whole(asset), variant_key(asset.key, width)
    if width >= asset.width:
        return piece
    with transactions.outside_transaction():
        stored = store.head(key)
        size = stored.size if stored is not None else _create(asset, key, width, limits, store)
    return StoredPiece(key, f"{piece.tag}-{width}", size, piece.mimetype)


def read(piece: StoredPiece, store: ObjectStore, *, start: int = 0, length: int | None = None) -> Iterator[bytes]:
    """Return the bytes of an object. Raises NotFound if the store has no such object."""
    try:
        return store.get(piece.key, start=start, length=length)
    except ObjectMissing as error:
        raise NotFound("The image does not exist") from error


def _create(asset: MediaAsset, key: str, width: int, limits: UploadLimits, store: ObjectStore) -> int:
    """Create and store a variant, in the share of the user who uploaded the image."""
    piece = whole(asset)
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as output:
        for chunk in read(piece, store):
            source.write(chunk)
        try:
            with uploads.slot(asset.uploader_id or asset.id):
                picture = remake(cast("BinaryIO", source), cast("BinaryIO", output), limits, width=width)
        except ServiceUnavailable:
            raise
        except AppError as error:
            raise NotFound("The image cannot be resized") from error
        store.put(key, cast("BinaryIO", output), mimetype=piece.mimetype)
        return picture.size


def with_url(asset: MediaAsset, settings: Settings, store: ObjectStore) -> dict[str, object]:
    """Return the fields of the asset with its URL."""
    url = store.public_url(asset.key) or f"{settings.server.base_url}{MEDIA}/{asset.key}"
    return {name: getattr(asset, name) for name in FIELDS} | {"url": url}


def width_url(key: str, width: int, secret: str) -> str:
    """Return the path of an asset at one of the widths."""
    return f"{MEDIA}/{key}?w={width}&s={signature(key, width, secret)}"


def links(asset: MediaAsset, settings: Settings) -> dict[str, str]:
    """Return the `Link` header with the URLs of the smaller widths."""
    secret, base = settings.security.secret_key, settings.server.base_url
    alternates = [
        f'<{base}{width_url(asset.key, width, secret)}>; rel="alternate"; title="{width}"'
        for width in WIDTHS
        if width < asset.width
    ]
    return {"Link": ", ".join(alternates)} if alternates else {}


def asset_response(key: str, query: VariantQuery, request: Request, settings: Settings, store: ObjectStore) -> Response:
    """Return the bytes, or a redirect if the store has public URLs.

    Raises:
        NotFound: the asset does not exist.
        PermissionDenied: the URL of a width has no valid signature.
    """
    asset = original(key)
    if query.w is None:
        public_url = store.public_url(key)
        return _redirect(public_url) if public_url else piece_response(whole(asset), request, store)
    secret, limits = settings.security.secret_key, settings.limits.upload
    piece = resized(asset, query.w, query.s, secret=secret, limits=limits, store=store)
    return piece_response(piece, request, store)


def piece_response(piece: StoredPiece, request: Request, store: ObjectStore) -> Response:
    """Return 200, 206 for a range, 304 for an unmodified object, or 416 for a range beyond its end."""
    headers = Headers({**HEADERS, "ETag": f'"{piece.tag}"', "Content-Type": piece.mimetype})
    if not is_resource_modified(request.environ, etag=piece.tag, ignore_if_range=True):
        headers.remove("Content-Type")
        return Response(status=304, headers=headers)
    requested = _range(request, piece)
    if requested is None:
        return _part(piece, headers, 0, piece.size, request, store)
    start, end = requested
    if not 0 <= start < end:
        return Response(status=416, headers={"Content-Range": f"bytes */{piece.size}"})
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{piece.size}"
    return _part(piece, headers, start, end, request, store)


def _range(request: Request, piece: StoredPiece) -> tuple[int, int] | None:
    """Return the requested range with an exclusive end; None for several ranges, or for a range of another version."""
    header = request.range
    if header is None or header.units != "bytes" or len(header.ranges) != 1:
        return None
    condition = request.if_range
    if (condition.etag is not None or condition.date is not None) and condition.etag != piece.tag:
        return None
    return header.range_for_length(piece.size) or (0, 0)


def _part(piece: StoredPiece, headers: Headers, start: int, end: int, request: Request, store: ObjectStore) -> Response:
    headers["Content-Length"] = str(end - start)
    status = 206 if "Content-Range" in headers else 200
    if request.method == "HEAD":
        return Response(status=status, headers=headers)
    chunks = read(piece, store, start=start, length=end - start)
    return Response(chunks, status, headers, direct_passthrough=True)


def _redirect(url: str) -> Response:
    response = redirect(url, 302)
    response.headers["Cache-Control"] = "public, max-age=300"
    return Response(response.get_data(), 302, response.headers)
