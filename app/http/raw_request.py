"""Access to the headers and bytes of the present request, for routes that verify signatures."""

from flask import request

from app.http.body import RAW


def header(name: str) -> str | None:
    """Return a header of the request."""
    return request.headers.get(name)


def raw_body() -> bytes:
    """Return the bytes of the body as `endpoint` read them within the limits."""
    raw: bytes = request.environ.get(RAW, b"")
    return raw
