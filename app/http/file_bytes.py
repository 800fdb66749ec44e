"""Somebody's files as answers: streamed, named for what they are, and harmless to whoever opens them."""

from collections.abc import Iterator
from itertools import chain

from flask import Response
from werkzeug.utils import get_content_type

JUDGED_BYTES = 1024 * 1024
"""So much of a text is held to see whether it is UTF-8; of longer ones no charset is told."""


def streamed(chunks: Iterator[bytes], *, size: int | None, mime: str, tag: str) -> Response:
    """Somebody's bytes, in pieces; whatever they are, a browser that opens them runs nothing."""
    told, chunks = _judged(mime, chunks)
    response = Response(chunks, content_type=told)
    if size is not None:
        response.content_length = size
    response.set_etag(tag)
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _judged(mime: str, chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The content type, naming UTF-8 where it is a text that was seen to be that, and all of the chunks."""
    told = get_content_type(mime, "utf-8")
    if told == mime:
        return mime, chunks
    held, size = [], 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size > JUDGED_BYTES:
            return mime, chain(held, chunks)
    return (told if _is_utf8(b"".join(held)) else mime), iter(held)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
