"""Files of users as streamed responses that a browser never executes."""

from collections.abc import Iterator
from itertools import chain

from flask import Response
from werkzeug.utils import get_content_type

MAX_INSPECTED_BYTES = 1024 * 1024
"""Longer texts are sent without a charset, because they are not held in memory to detect UTF-8."""


def stream_file(chunks: Iterator[bytes], *, size: int | None, mime: str, tag: str) -> Response:
    """Return a streamed response with a content security policy that forbids scripts."""
    content_type, chunks = _with_charset(mime, chunks)
    response = Response(chunks, content_type=content_type)
    if size is not None:
        response.content_length = size
    response.set_etag(tag)
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _with_charset(mime: str, chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """Return the content type, with the charset if the file is UTF-8 text, and all chunks."""
    with_charset = get_content_type(mime, "utf-8")
    if with_charset == mime:
        return mime, chunks
    held, size = [], 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size > MAX_INSPECTED_BYTES:
            return mime, chain(held, chunks)
    return (with_charset if _is_utf8(b"".join(held)) else mime), iter(held)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
