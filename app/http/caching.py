"""Strong ETags and conditional requests, for plain and compressed responses."""

import hashlib
import re
from collections.abc import Sequence
from typing import Protocol

from flask import Flask, Request, Response, current_app, request

_CODING = re.compile(r"[-:](gzip|br|zstd)$")


def init_app(app: Flask) -> None:
    """Add an ETag to every successful GET response, and respond 304 if the client has the same version.

    Flask runs these hooks in reverse order of registration: tag, then compress (Flask-Compress), then rename.
    """
    app.before_request(_drop_refused_codings)
    app.after_request(_suffix_compressed_tag)


def init_after_compression(app: Flask) -> None:
    """Register the hook that must run before the body is compressed."""
    app.after_request(_tag)


def compute_etag(body: bytes) -> str:
    """Return the ETag of a body, without quotes."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def uncompressed_etag(tag: str) -> str:
    """Return the opaque part of an ETag without the suffix of its compressed form."""
    return _CODING.sub("", tag.strip().removeprefix("W/").strip('"'))


def etag_matches(header: str | None, tag: str) -> bool:
    """Return whether an `If-Match` or `If-None-Match` header contains the tag, in plain or compressed form."""
    if not header:
        return False
    return header.strip() == "*" or any(uncompressed_etag(part) == tag for part in header.split(","))


def not_modified(http_request: Request, tag: str) -> Response | None:
    """Return a 304 response if the client has `tag`. Call this before reading the body."""
    if not etag_matches(http_request.headers.get("If-None-Match"), tag):
        return None
    response = Response(status=304)
    response.set_etag(tag)
    return response


class PrecompressedBody(Protocol):
    """A response body that is available in plain and compressed forms."""

    @property
    def codings(self) -> Sequence[str]:
        """The stored compressed forms, the preferred first."""

    def encoded(self, coding: str, /) -> bytes:
        """Return a compressed form."""

    def plain(self) -> bytes:
        """Return the plain form."""


def precompressed_response(http_request: Request, body: PrecompressedBody, tag: str | None) -> Response:
    """Return a response with a stored body in the coding that the client prefers, or the plain one."""
    response = Response(mimetype="application/json")
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = "private, no-cache"
    coding = _preferred_coding(http_request, body.codings)
    if coding is None:
        response.set_data(body.plain())
    else:
        response.set_data(body.encoded(coding))
        response.headers["Content-Encoding"] = coding
    if tag is not None:
        response.set_etag(tag if coding is None else f"{tag}-{coding}")
    return response


def _preferred_coding(http_request: Request, codings: Sequence[str]) -> str | None:
    """Return the coding with the highest quality, the first of equal ones. None is the plain form."""
    if not codings:
        return None
    accepted = http_request.accept_encodings
    preferred = max(codings, key=lambda coding: accepted[coding])
    plain_quality = dict(accepted).get("identity", 0)
    return preferred if accepted[preferred] > 0 and accepted[preferred] >= plain_quality else None


def _drop_refused_codings() -> None:
    """Remove codings with a quality of zero from `Accept-Encoding`. Flask-Compress would use them."""
    if ";" not in request.headers.get("Accept-Encoding", ""):
        return  # no coding has a quality
    accepted = list(request.accept_encodings)
    refused = {name for name, quality in accepted if quality == 0}
    if not refused:
        return
    codings: Sequence[str] = current_app.config["COMPRESS_ALGORITHM"]
    values = [f"{name};q={quality}" for name, quality in accepted if name not in refused | {"*"}]
    if any(name == "*" and quality > 0 for name, quality in accepted):
        values += [name for name in codings if name not in refused]
    request.environ["HTTP_ACCEPT_ENCODING"] = ", ".join(values)


def _tag(response: Response) -> Response:
    if request.method not in ("GET", "HEAD") or response.status_code != 200 or response.direct_passthrough:
        return response
    if response.is_streamed:
        return response
    tag = response.get_etag()[0]
    if tag is None:
        tag = compute_etag(response.get_data())
        response.set_etag(tag)
        response.headers.setdefault("Cache-Control", "private, no-cache")
    if etag_matches(request.headers.get("If-None-Match"), uncompressed_etag(tag)):
        response.set_data(b"")
        response.status_code = 304
        for name in ("Content-Length", "Content-Type", "Content-Encoding"):
            response.headers.pop(name, None)
    return response


def _suffix_compressed_tag(response: Response) -> Response:
    tag, weak = response.get_etag()
    if tag and not weak:
        match = _CODING.search(tag)
        if match:
            response.set_etag(f"{tag[: match.start()]}-{match[1]}")
    return response
