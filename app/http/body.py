"""JSON bodies: the check of size, type, encoding and structure before any other use.

The checks (limits, section 1: Input) refuse too many bytes, too much depth or width, duplicate keys, NaN and Infinity,
integers beyond 64 bits, lone surrogates and U+0000.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Never

from flask import Request, request

from app.concurrency.threadpool import time_limit
from app.core.errors import AppError, InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from app.core.limits import InputLimits

DEFAULT_BYTES = InputLimits.json_bytes
MAX_DEPTH, MAX_KEYS, MAX_ITEMS = InputLimits.depth, InputLimits.object_keys, InputLimits.list_items
MAX_VALUES = 500_000
"""The values of a whole body: about as many as a megabyte can contain.

The worker serves no other request while it parses them, and commits may have 25 MiB.
"""

INT64 = InputLimits.integer_max + 1
BODY_WAIT_S = InputLimits.body_timeout_s
STEP_BYTES = 256 * 1024

RAW = "galley.body"
"""The key of the received bytes in the environment of the request."""

_BRACKET = re.compile(rb"[\[\]{}]")


class RequestTimeout(AppError):
    """A body that did not arrive in time (408)."""

    status, code, message = 408, "BODY_LATE", "The body did not arrive in time"


def _admit_any(_size_bytes: int) -> None:
    """Admit a body of any size."""


def read_json(
    request: Request,
    *,
    max_bytes: int = DEFAULT_BYTES,
    any_type: bool = False,
    admit: Callable[[int], None] = _admit_any,
) -> dict[str, object]:
    """Return the JSON object of a request; an absent body counts as `{}`.

    `admit` is called with each size that is known, before these bytes are read, and raises to refuse the body.
    `any_type` accepts any media type, for beacons.

    Raises:
        PayloadTooLarge: the declared or received size is above `max_bytes`.
        UnsupportedMediaType: the body is not `application/json`, or it is compressed.
        InvalidRequest: the body is not a JSON object within the limits.
    """
    raw = _read(request, max_bytes, admit)
    if not raw.strip():
        if raw or (request.mimetype == "application/json" and request.content_length):
            raise InvalidRequest("The body is not valid JSON", code="INVALID_JSON")
        return {}
    if not any_type and request.mimetype != "application/json":
        raise UnsupportedMediaType
    check_coding(request)
    check_shape(raw)
    value = _parse(raw)
    if not isinstance(value, dict):
        raise InvalidRequest("Send a JSON object", code="INVALID_JSON")
    return value


def check_coding(request: Request) -> None:
    """Raise UnsupportedMediaType if the body is compressed."""
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType("Send the body without Content-Encoding")


def _read(request: Request, max_bytes: int, admit: Callable[[int], None]) -> bytes:
    declared_bytes = request.content_length or 0
    if declared_bytes > max_bytes:
        raise _too_large(max_bytes)
    admit(declared_bytes)
    pieces: list[bytes] = []
    received_bytes = 0
    with time_limit(BODY_WAIT_S, RequestTimeout()):
        while piece := request.stream.read(STEP_BYTES):
            received_bytes += len(piece)
            if received_bytes > max_bytes:
                raise _too_large(max_bytes)
            admit(received_bytes)
            pieces.append(piece)
    raw = b"".join(pieces)
    request.environ[RAW] = raw
    return raw


def _too_large(max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body can have at most {max_bytes} bytes")


def check_shape(raw: bytes) -> None:
    """Count values and levels before JSON is parsed. Raises InvalidRequest if there are too many."""
    # Without escaped characters each second piece between quotes is outside a string. An open string ends with the
    # body.
    unescaped = raw.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in raw else raw
    if unescaped.count(b'"') // 2 > MAX_VALUES:
        raise _too_much()
    structure, depth = b"".join(unescaped.split(b'"')[::2]), 0
    if structure.count(b",") + structure.count(b"[") + structure.count(b"{") > MAX_VALUES:
        raise _too_much()
    for bracket in _BRACKET.finditer(structure):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MAX_DEPTH:
            raise InvalidRequest(f"The body has more than {MAX_DEPTH} levels of nesting", code="INVALID_JSON")


def _too_much() -> InvalidRequest:
    return InvalidRequest(f"The body contains more than {MAX_VALUES} values", code="INVALID_JSON")


def _parse(raw: bytes) -> object:
    try:
        text = raw.decode("utf-8")
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_float,
            cls=_Decoder,
        )
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}", code="INVALID_JSON") from error


class _Decoder(json.JSONDecoder):
    """A decoder that also checks the complete value."""

    def decode(self, s: str, *args: Callable[..., object]) -> object:
        """Parse the text, then check each string and list."""
        value = super().decode(s, *args)
        if "\\u" in s or "\x00" in s:
            _check_text(value)
        _check_lists(value)
        return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(pairs) > MAX_KEYS:
        raise ValueError(f"an object can have at most {MAX_KEYS} keys")
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key is repeated in one object")
    return result


def _constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else INT64
    if not -INT64 <= value < INT64:
        raise ValueError("an integer does not fit into 64 bits")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _check_text(value: object) -> None:
    if isinstance(value, str):
        if "\x00" in value:
            raise ValueError("text must not contain U+0000")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError("text must not contain a lone surrogate") from error
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check_text(item)
    elif isinstance(value, list):
        for item in value:
            _check_text(item)


def _check_lists(value: object) -> None:
    if isinstance(value, list) and len(value) > MAX_ITEMS:
        raise ValueError(f"a list can have at most {MAX_ITEMS} items")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(item, dict | list):
            _check_lists(item)


def header(name: str) -> str | None:
    """Return a header of the request."""
    return request.headers.get(name)


def raw_body() -> bytes:
    """Return the bytes of the body as `endpoint` read them within the limits."""
    raw: bytes = request.environ.get(RAW, b"")
    return raw
