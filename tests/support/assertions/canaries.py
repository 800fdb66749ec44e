"""Search for secrets in everything that is returned, logged or stored."""

import io
import logging
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from flask import Flask
from werkzeug.wsgi import ClosingIterator

from app.extensions import db

SESSION = re.compile(r"^((?:__Host-)?session_token)=([^;]+)")


class Recorder:
    """A WSGI middleware that records every response and the secrets of the cookies that it sets."""

    def __init__(self, app: Flask) -> None:
        self._app, self.told, self.sessions = app.wsgi_app, bytearray(), set[str]()

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        encoding = [""]

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            encoding[0] = dict(headers).get("Content-Encoding", "")
            shown = [f"{name}: {self._shown(name, value)}" for name, value in headers]
            self.told += "\n".join([status, *shown, "\n"]).encode()
            return start_response(status, headers, exc_info)

        answer = self._app(environ, start)
        return ClosingIterator(self._copied(answer, encoding), [getattr(answer, "close", lambda: None)])

    def _copied(self, answer: Iterable[bytes], encoding: list[str]) -> Iterator[bytes]:
        body = bytearray()
        try:
            for piece in answer:
                body.extend(piece)
                yield piece
        finally:
            self.told += zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body) if encoding[0] == "gzip" else body
            self.told += b"\n"

    def _shown(self, name: str, value: str) -> str:
        """Return a header without the secret that it must carry."""
        match = SESSION.match(value) if name == "Set-Cookie" else None
        if match is None:
            return value
        self.sessions.add(match[2])
        return SESSION.sub(r"\1=", value)


@contextmanager
def recorded(app: Flask) -> Iterator[Recorder]:
    """Record the responses of the application inside the block."""
    before, recorder = app.wsgi_app, Recorder(app)
    app.wsgi_app = recorder  # type: ignore[method-assign]
    try:
        yield recorder
    finally:
        app.wsgi_app = before  # type: ignore[method-assign]


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """Record every log line inside the block, at any level, in its final form."""
    root, text = logging.getLogger(), io.StringIO()
    handler, level = logging.StreamHandler(text), root.level
    handler.setFormatter(root.handlers[0].formatter)
    root.addHandler(handler)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def dump(app: Flask) -> bytes:
    """Return every value of every table, including jobs and decompressed values."""
    with app.app_context(), db.engine.connect() as connection:
        names = sa.inspect(connection).get_table_names()
        rows = [row for name in names for row in connection.execute(sa.text(f'SELECT * FROM "{name}"'))]
    return b"\n".join(_bytes(value) for row in rows for value in row)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | memoryview):
        return str(value).encode()
    try:
        return zlib.decompress(bytes(value), zlib.MAX_WBITS | 16)
    except zlib.error:
        return bytes(value)


def hits(secrets: Iterable[str], places: dict[str, bytes]) -> list[tuple[str, str, str]]:
    """Return the occurrences of each secret with their context. A six-digit code counts only as a separate term."""
    items = []
    for secret in secrets:
        text = re.escape(secret.encode())
        pattern = re.compile(rb"(?<![\w.:-])" + text + rb"(?![\w.-])" if secret.isdecimal() else text)
        for where, place in places.items():
            for hit in pattern.finditer(place):
                items.append((where, secret[:16], repr(place[max(0, hit.start() - 80) : hit.end() + 40])))
                break
    return items
