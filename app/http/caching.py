"""Strong ETags of answers, and the conditional requests that name them, in plain and compressed form alike."""

import hashlib
import re
from collections.abc import Sequence
from typing import Protocol

from flask import Flask, Request, Response, current_app, request

_CODING = re.compile(r"[-:](gzip|br|zstd)$")


def init_app(app: Flask) -> None:
    """Tag every successful GET and answer 304 where the client has it already.

    Flask runs these in reverse order of registration: tag, then (Flask-Compress) compress, then rename.
    """
    app.before_request(_drop_refused_codings)
    app.after_request(_name_compressed_form)


def init_after_compression(app: Flask) -> None:
    """Register what must run before the body is compressed."""
    app.after_request(_tag)


def tag_of(body: bytes) -> str:
    """The ETag (without quotes) of a body."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def plain(tag: str) -> str:
    """An ETag's opaque part without the mark of its compressed form."""
    return _CODING.sub("", tag.strip().removeprefix("W/").strip('"'))


def names(header: str | None, tag: str) -> bool:
    """Whether an `If-Match` or `If-None-Match` header names that tag, in either form."""
    if not header:
        return False
    return header.strip() == "*" or any(plain(part) == tag for part in header.split(","))


def not_modified(given: Request, tag: str) -> Response | None:
    """The 304, before a body is even read, where the client has `tag`."""
    if not names(given.headers.get("If-None-Match"), tag):
        return None
    response = Response(status=304)
    response.set_etag(tag)
    return response


class Body(Protocol):
    """A JSON answer that is had in either form."""

    def gzipped(self) -> bytes:
        """Compressed."""

    def plain(self) -> bytes:
        """As it is."""


def in_either_form(given: Request, body: Body, tag: str | None) -> Response:
    """An answer that is kept compressed: sent so where the client takes that, else unpacked."""
    response = Response(mimetype="application/json")
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = "private, no-cache"
    if given.accept_encodings["gzip"]:
        response.set_data(body.gzipped())
        response.headers["Content-Encoding"] = "gzip"
    else:
        response.set_data(body.plain())
    if tag is not None:
        response.set_etag(f"{tag}-gzip" if "Content-Encoding" in response.headers else tag)
    return response


def _drop_refused_codings() -> None:
    """Take what is named with a quality of zero out of `Accept-Encoding`: Flask-Compress would use it all the same."""
    given = list(request.accept_encodings)
    refused = {name for name, quality in given if quality == 0}
    if not refused:
        return
    codings: Sequence[str] = current_app.config["COMPRESS_ALGORITHM"]
    wanted = [f"{name};q={quality}" for name, quality in given if name not in refused | {"*"}]
    if any(name == "*" and quality > 0 for name, quality in given):
        wanted += [name for name in codings if name not in refused]
    request.environ["HTTP_ACCEPT_ENCODING"] = ", ".join(wanted)


def _tag(response: Response) -> Response:
    if request.method not in ("GET", "HEAD") or response.status_code != 200 or response.direct_passthrough:
        return response
    if response.is_streamed:
        return response
    tag = response.get_etag()[0]
    if tag is None:
        tag = tag_of(response.get_data())
        response.set_etag(tag)
        response.headers.setdefault("Cache-Control", "private, no-cache")
    if names(request.headers.get("If-None-Match"), plain(tag)):
        response.set_data(b"")
        response.status_code = 304
        for name in ("Content-Length", "Content-Type", "Content-Encoding"):
            response.headers.pop(name, None)
    return response


def _name_compressed_form(response: Response) -> Response:
    tag, weak = response.get_etag()
    if tag and not weak:
        match = _CODING.search(tag)
        if match:
            response.set_etag(f"{tag[: match.start()]}-{match[1]}")
    return response
