"""Tests of the decoder of submitted forms: any split of the body gives the same fields, and counts are limited."""

from urllib.parse import parse_qsl, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import AppError, InvalidRequest, PayloadTooLarge
from app.http.urlencoded import UrlencodedDecoder

NAMES = st.text(min_size=1, max_size=4)


def decoded(body: bytes, step: int = 1, **limits: int) -> list[tuple[str, str]]:
    decoder = UrlencodedDecoder(**limits)
    for start in range(0, len(body), step):
        decoder.feed(body[start : start + step])
    return decoder.finish()


@given(st.lists(st.tuples(NAMES, st.text(max_size=6)), max_size=6), st.integers(1, 9))
def test_split_body_gives_the_sent_fields(fields: list[tuple[str, str]], step: int) -> None:
    body = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in fields)
    assert decoded(body.encode(), step) == fields


@pytest.mark.parametrize(
    "body", ["", "&&a=1&&b", "a", "a=", "=", "=1", "a=b=c", "a+b=%2B+%", "%zz=%4", "a%26b=%3D", "%"]
)
def test_unusual_body_is_read_as_by_the_standard_library(body: str) -> None:
    expected = parse_qsl(body, keep_blank_values=True)
    assert [decoded(body.encode(), step) for step in (1, 2, 99)] == [expected] * 3


@pytest.mark.parametrize(
    ("body", "limits", "error"),
    [
        pytest.param(b"a&" * 10, {"max_fields": 10}, PayloadTooLarge, id="too-many-fields"),
        pytest.param(b"&" * 10, {"max_fields": 10}, PayloadTooLarge, id="separators-only"),
        pytest.param(b"a=" + b"%41" * 10, {"max_bytes": 10}, PayloadTooLarge, id="too-much-text"),
        pytest.param(b"a" * 11, {"max_bytes": 10}, PayloadTooLarge, id="long-name"),
        pytest.param(b"a=%ff", {}, InvalidRequest, id="not-utf-8"),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 64])
def test_hostile_body_is_refused(body: bytes, limits: dict[str, int], error: type[AppError], step: int) -> None:
    with pytest.raises(error):
        decoded(body, step, **limits)


def test_body_within_the_limits_is_accepted() -> None:
    assert len(decoded(b"&".join([b"a=1"] * 10), max_fields=10)) == 10
    assert decoded(b"a=" + b"%41" * 9, max_bytes=10) == [("a", "A" * 9)]
