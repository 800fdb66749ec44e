"""Tests of the checks of a JSON body before it is parsed."""

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from app.core.errors import InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from app.http.body import MAX_DEPTH, MAX_ITEMS, MAX_KEYS, MAX_VALUES, read_json
from tests.support.watchdog import watchdog


def request(data: bytes | str, kind: str = "application/json") -> Request:
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return Request(EnvironBuilder(method="POST", data=raw, content_type=kind).get_environ())


class TestAccepted:
    def test_object_is_accepted(self) -> None:
        assert read_json(request('{"a": [1, 2.5, null, "ü😀"]}')) == {"a": [1, 2.5, None, "ü😀"]}

    def test_empty_body_is_an_empty_object(self) -> None:
        assert read_json(request("", kind="")) == {}

    def test_brackets_inside_text_do_not_count_as_depth(self) -> None:
        text = "[" * 500 + '\\"{'
        assert read_json(request('{"a": "' + text + '"}'))["a"] == "[" * 500 + '"{'

    def test_escaped_surrogate_pair_is_one_character(self) -> None:
        assert read_json(request('{"a": "\\ud83d\\ude00"}')) == {"a": "😀"}

    def test_beacon_with_another_type_is_accepted(self) -> None:
        assert read_json(request('{"a": 1}', kind="text/plain"), any_type=True) == {"a": 1}

    def test_body_at_the_limits_is_accepted(self) -> None:
        deep = '{"a":' * (MAX_DEPTH - 1) + "{}" + "}" * (MAX_DEPTH - 1)
        wide = "{" + ",".join(f'"k{n}": 1' for n in range(MAX_KEYS)) + "}"
        long = '{"a": [' + ",".join("1" * MAX_ITEMS) + "]}"
        ends = f'{{"a": {2**63 - 1}, "b": {-(2**63)}}}'
        for data in (deep, wide, long, ends):
            assert read_json(request(data))


class TestRefused:
    @pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip"])
    def test_compressed_body_raises_unsupported_media_type(self, coding: str) -> None:
        environ_source = EnvironBuilder(method="POST", data=b"{}", content_type="application/json")
        environ_source.headers["Content-Encoding"] = coding
        with pytest.raises(UnsupportedMediaType):
            read_json(Request(environ_source.get_environ()))

    @pytest.mark.parametrize(
        "data",
        [
            "{",
            "[1]",
            '"text"',
            "null",
            " ",
            '{"a": NaN}',
            '{"a": -Infinity}',
            '{"a": 1e999}',
            '{"a": 1, "a": 2}',
            '{"b": {"a": 1, "a": 2}}',
            '{"a": "x\\u0000y"}',
            '{"a\\u0000": 1}',
            '{"a": "\\ud800"}',
            f'{{"a": {2**63}}}',
            '{"a": ' + "9" * 5000 + "}",
            '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
            '{"a":' * 100_000,
            "{" + ",".join(f'"k{n}": 1' for n in range(MAX_KEYS + 1)) + "}",
            '{"a": [' + ",".join("1" * (MAX_ITEMS + 1)) + "]}",
            b'{"a": "\xff"}',
        ],
        ids=range(20),
    )
    def test_invalid_or_oversized_json_raises_invalid_json(self, data: str | bytes) -> None:
        with pytest.raises(InvalidRequest) as failure:
            read_json(request(data))
        assert failure.value.code == "INVALID_JSON"

    @pytest.mark.parametrize("end", ["", "\\"], ids=["open", "escaped"])
    def test_unterminated_string_takes_bounded_time(self, end: str) -> None:
        with watchdog(), pytest.raises(InvalidRequest):
            read_json(request('"' + '\\"' * 400_000 + end))

    @pytest.mark.parametrize("value", ["0", "{}", "[]", '"a"'])
    def test_body_with_too_many_values_is_refused(self, value: str) -> None:
        many = f"[{','.join([value] * MAX_ITEMS)}],"
        data = '{"a": [' + many * (MAX_VALUES // MAX_ITEMS) + "0]}"
        with pytest.raises(InvalidRequest, match="more than 500000 values"):
            read_json(request(data), max_bytes=len(data))

    def test_body_of_another_type_is_refused(self) -> None:
        with pytest.raises(UnsupportedMediaType):
            read_json(request("a=1", kind="application/x-www-form-urlencoded"))

    def test_content_length_above_the_limit_raises_payload_too_large(self) -> None:
        with pytest.raises(PayloadTooLarge):
            read_json(request('{"a": "' + "x" * 100 + '"}'), max_bytes=50)

    def test_body_above_the_limit_without_a_length_raises_payload_too_large(self) -> None:
        environ_source = request('{"a": "' + "x" * 100 + '"}')
        environ_source.environ["CONTENT_LENGTH"] = ""
        environ_source.environ["wsgi.input_terminated"] = True
        with pytest.raises(PayloadTooLarge):
            read_json(environ_source, max_bytes=50)
