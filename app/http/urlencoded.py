"""Forms in `application/x-www-form-urlencoded`, decoded while they arrive.

The encoded body is never complete in memory.
"""

from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from flask import Request

from app.concurrency.threadpool import switch, time_limit
from app.core.errors import ErrorMessage, InvalidRequest, PayloadTooLarge
from app.core.limits import InputLimits
from app.http.body import RequestTimeout

STEP_BYTES = 32 * 1024


def read_urlencoded(request: Request, *, max_bytes: int, admit: Callable[[int], None]) -> list[tuple[str, str]]:
    """Return the names and values of a form in their order. `admit` is called as by `app.http.body.read_json`.

    Raises:
        PayloadTooLarge: the form has more than `max_bytes`, too many fields, or too much text.
        InvalidRequest: a name or value is not UTF-8.
    """
    decoder, received = UrlencodedDecoder(), 0
    with time_limit(InputLimits.body_timeout_s, RequestTimeout()):
        while piece := request.stream.read(STEP_BYTES):
            received += len(piece)
            if received > max_bytes:
                raise PayloadTooLarge(ErrorMessage("The form is too large"))
            admit(received)
            decoder.feed(piece)
            switch()
    return decoder.finish()


class UrlencodedDecoder:
    """A decoder that receives a form in pieces. Separators are counted before a piece is split."""

    def __init__(self, *, max_fields: int = InputLimits.form_fields, max_bytes: int = InputLimits.form_bytes) -> None:
        self._max_fields, self._free_bytes = max_fields, max_bytes
        self._fields: list[tuple[str, str]] = []
        self._separators = 0
        self._escape = b""
        """The start of an escape sequence at the end of the last piece."""
        self._name: str | None = None
        self._text: list[bytes] = []

    def feed(self, piece: bytes) -> None:
        """Decode the next piece.

        Raises:
            PayloadTooLarge: the form has too many fields or too much text.
            InvalidRequest: a name or value is not UTF-8.
        """
        self._separators += piece.count(b"&")
        if self._separators >= self._max_fields:
            raise PayloadTooLarge(ErrorMessage("The form has too many fields"))
        piece = self._escape + piece
        start = piece.rfind(b"%", max(0, len(piece) - 2))
        complete = start if start >= 0 else len(piece)
        self._escape = piece[complete:]
        self._decode(piece[:complete])

    def finish(self) -> list[tuple[str, str]]:
        """Return the fields after the last piece."""
        self._decode(self._escape)
        self._end_field()
        return self._fields

    def _decode(self, piece: bytes) -> None:
        first, *others = piece.split(b"&")
        self._add(first)
        for part in others:
            self._end_field()
            self._add(part)

    def _add(self, part: bytes) -> None:
        if self._name is None:
            name, equals, part = part.partition(b"=")
            self._append(name)
            if not equals:
                return
            self._name = self._take_text()
        self._append(part)

    def _append(self, part: bytes) -> None:
        text = unquote_to_bytes(part.replace(b"+", b" "))
        self._free_bytes -= len(text)
        if self._free_bytes < 0:
            raise PayloadTooLarge(ErrorMessage("The form is too large"))
        if text:
            self._text.append(text)

    def _take_text(self) -> str:
        text, self._text = b"".join(self._text), []
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise InvalidRequest("A field of the form is not valid UTF-8") from error

    def _end_field(self) -> None:
        text, name = self._take_text(), self._name
        self._name = None
        if name is not None:
            self._fields.append((name, text))
        elif text:
            self._fields.append((text, ""))
