"""Assets as clients see them: their addresses, and the answers that carry their bytes."""

from typing import Any

from flask import Request, Response, redirect

from app.drivers.storage.port import ObjectStore
from app.models.media import MediaAsset
from app.resources.bucket import serving
from app.resources.bucket.keys import WIDTHS, signature
from app.resources.bucket.schemas import WhichVariantQuery
from config import Settings

MEDIA = "/media"
SHOWN = ("key", "mimetype", "size", "width", "height", "hash")


def shown(asset: MediaAsset, settings: Settings, store: ObjectStore) -> dict[str, Any]:
    """The asset with its address."""
    url = store.public_url(asset.key) or f"{settings.server.base_url}{MEDIA}/{asset.key}"
    return {name: getattr(asset, name) for name in SHOWN} | {"url": url}


def links(asset: MediaAsset, settings: Settings) -> dict[str, str]:
    """The `Link` header with the addresses of its smaller widths, where there are any."""
    secret, base = settings.security.secret_key, f"{settings.server.base_url}{MEDIA}/{asset.key}"
    variants = [
        f'<{base}?w={width}&s={signature(asset.key, width, secret)}>; rel="alternate"; title="{width}"'
        for width in WIDTHS
        if width < asset.width
    ]
    return {"Link": ", ".join(variants)} if variants else {}


def served(key: str, query: WhichVariantQuery, request: Request, settings: Settings, store: ObjectStore) -> Response:
    """The bytes; where the store has a public place, the way there.

    Raises:
        NotFound: no such asset, or not any more.
        NotAllowed: a width whose address is not signed.
    """
    asset = serving.original(key)
    if query["w"] is None:
        public_url = store.public_url(key)
        return _elsewhere(public_url) if public_url else serving.answer(serving.whole(asset), request, store)
    secret, limits = settings.security.secret_key, settings.limits.upload
    piece = serving.resized(asset, query["w"], query["s"], secret=secret, limits=limits, store=store)
    return serving.answer(piece, request, store)


def _elsewhere(url: str) -> Response:
    response: Any = redirect(url, 302)
    response.headers["Cache-Control"] = "public, max-age=300"
    return Response(response.get_data(), 302, response.headers)
