"""The JSON of a request: its size, type, encoding and shape are judged before anything else looks at it.

Refused here (limits, section 1: Input): too many bytes, too deep, too wide, duplicate keys, NaN and Infinity, integers
beyond 64 bits, lone surrogates, U+0000.
"""

import json
import math
import re
from typing import Any, Never

from flask import Request

from app.core.errors import AppError, Invalid, TooLarge, WrongMediaType
from app.core.limits import InputLimits
from app.core.threadpool import time_limit

KIB, MIB = 1024, 1024 * 1024
DEFAULT_BYTES = MIB
MAX_DEPTH, MAX_KEYS, MAX_ITEMS = 32, 256, 10_000
MAX_VALUES = 500_000
"""In a whole body: about what a megabyte can hold. Each costs time in which the worker serves nobody else, and bodies of
25 MiB, which commits may have, are read before anybody asks whose they are."""

INT64 = 2**63
BODY_WAIT_S = InputLimits.body_timeout_s

RAW = "galley.body"
"""Where the bytes that were read stand in the request's environment."""

# Possessive, and also to the end of a body where a string is not closed: what is hostile is read once as well.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


class BodyLate(AppError):
    """The body did not arrive in time (408): a slow client must not keep a worker's connection for ever."""

    status, code, message = 408, "BODY_LATE", "The body did not arrive in time"


def read_json(request: Request, *, max_bytes: int = DEFAULT_BYTES, any_type: bool = False) -> dict[str, Any]:
    """The request's JSON object; an absent body counts as `{}`.

    Raises:
        TooLarge: more than `max_bytes`, told or counted.
        WrongMediaType: a body that is not `application/json` (`any_type` waives that, for beacons), or is compressed.
        Invalid: not a JSON object within the limits.
    """
    raw = _read(request, max_bytes)
    if not raw.strip():
        if raw or (request.mimetype == "application/json" and request.content_length):
            raise Invalid("The body is not valid JSON", code="INVALID_JSON")
        return {}
    if not any_type and request.mimetype != "application/json":
        raise WrongMediaType
    check_coding(request)
    _check_shape(raw)
    value = _parse(raw)
    if not isinstance(value, dict):
        raise Invalid("Send a JSON object", code="INVALID_JSON")
    return value


def check_coding(request: Request) -> None:
    """Make sure that the body comes as it is. Raises WrongMediaType for a compressed one, which nothing here unpacks."""
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise WrongMediaType("Send the body without Content-Encoding")


def _read(request: Request, max_bytes: int) -> bytes:
    if (request.content_length or 0) > max_bytes:
        raise TooLarge(f"The body may have at most {max_bytes} bytes")
    with time_limit(BODY_WAIT_S, BodyLate()):
        raw = request.stream.read(max_bytes + 1)
    if len(raw) > max_bytes:
        raise TooLarge(f"The body may have at most {max_bytes} bytes")
    request.environ[RAW] = bytes(raw)
    return bytes(raw)


def _check_shape(raw: bytes) -> None:
    if (raw.count(b'"') - raw.count(b'\\"')) // 2 > MAX_VALUES:  # texts, a few of them uncounted
        raise _too_much()
    bare, depth = _STRING.sub(b"", raw), 0
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > MAX_VALUES:
        raise _too_much()
    for bracket in _BRACKET.finditer(bare):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MAX_DEPTH:
            raise Invalid(f"The body is nested deeper than {MAX_DEPTH}", code="INVALID_JSON")


def _too_much() -> Invalid:
    return Invalid(f"The body holds more than {MAX_VALUES} values", code="INVALID_JSON")


def _parse(raw: bytes) -> Any:
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
        raise Invalid(f"The body is not valid JSON: {error}", code="INVALID_JSON") from error


class _Decoder(json.JSONDecoder):
    """Checks what only the whole value shows."""

    def decode(self, s: str, *args: Any) -> Any:
        """Parse, then look at every string and list."""
        value = super().decode(s, *args)
        if "\\u" in s or "\x00" in s:
            _check_text(value)
        _check_lists(value)
        return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise ValueError(f"an object may have at most {MAX_KEYS} keys")
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
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


def _check_text(value: Any) -> None:
    if isinstance(value, str):
        if "\x00" in value:
            raise ValueError("text may not hold U+0000")
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise ValueError("text may not hold a lone surrogate")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check_text(item)
    elif isinstance(value, list):
        for item in value:
            _check_text(item)


def _check_lists(value: Any) -> None:
    if isinstance(value, list) and len(value) > MAX_ITEMS:
        raise ValueError(f"a list may have at most {MAX_ITEMS} items")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(item, dict | list):
            _check_lists(item)
