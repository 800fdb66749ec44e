"""Tests of the body of a request on its connection: framing, and the end of a connection whose body was not read."""

import pytest
from flask import Flask
from gunicorn.config import Config
from gunicorn.http.errors import InvalidChunkSize
from gunicorn.http.unreader import IterUnreader

from app.http import server_errors
from app.http.connection_body import CHUNK_BYTES, DRAIN_BYTES, FREE_CHUNKS, MAX_BODY_BYTES, AbsurdLength
from app.http.gunicorn_worker import BoundedRequest, check_request

STEP = 8 * 1024


def received(head: str, body: bytes = b"") -> BoundedRequest:
    """Return a request that arrives in parts."""
    data = f"POST / HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode() + body
    parts = iter([data[start : start + STEP] for start in range(0, len(data), STEP)])
    return BoundedRequest(Config(), IterUnreader(parts), ("127.0.0.1", 1))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("sizes", "accepted"),
    [
        pytest.param([1] * FREE_CHUNKS, True, id="tiny-chunks"),
        pytest.param([1] * (FREE_CHUNKS + 1000), False, id="too-many-tiny-chunks"),
        pytest.param([CHUNK_BYTES] * (FREE_CHUNKS * 2), True, id="many-chunks"),
        pytest.param([MAX_BODY_BYTES + 1], False, id="absurd-chunk"),
        pytest.param([16**4000], False, id="absurd-digits"),
    ],
)
def test_chunked_body_has_limits(sizes: list[int], accepted: bool) -> None:
    body = b"".join(b"%x\r\n%s\r\n" % (size, b"a" * min(size, CHUNK_BYTES)) for size in sizes) + b"0\r\n\r\n"
    request = received("Transfer-Encoding: chunked", body)
    if accepted:
        assert len(request.body.read()) == sum(sizes)
        return
    with pytest.raises(InvalidChunkSize):
        request.body.read()


@pytest.mark.parametrize("length", [str(MAX_BODY_BYTES + 1), "9" * 20, "9" * 4000])
def test_absurd_length_is_refused(length: str) -> None:
    with pytest.raises(AbsurdLength):
        check_request(received(f"Content-Length: {length}"))
    assert server_errors.of(AbsurdLength(), ()).status == 413


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("path", "head", "closed"),
    [
        ("/nowhere", f"Content-Length: {DRAIN_BYTES + 1}", True),
        ("/healthz", f"Content-Length: {DRAIN_BYTES + 1}", True),
        ("/nowhere", f"Content-Length: {DRAIN_BYTES}", False),
        ("/nowhere", "Transfer-Encoding: chunked", True),
        ("/healthz", "Transfer-Encoding: chunked", False),
    ],
)
def test_response_to_an_unread_body_ends_the_connection(app: Flask, path: str, head: str, closed: bool) -> None:
    request = received(head)
    app.test_client().get(path, environ_overrides={"wsgi.input": request.body})
    assert request.should_close() is closed
