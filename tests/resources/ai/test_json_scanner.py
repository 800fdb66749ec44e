"""Tests of the extraction of JSON objects from incomplete text."""

import pytest

from app.resources.ai.stream_parsers import JsonObjectScanner

TEXT = 'Sure!\n```json\n[{"a": "x } \\" {", "b": {"c": [1, {"d": 2}]}},\n {"a": 2}]\n```\n{bad}{"e": "ü"} } "{" {"f'
FOUND = [{"a": 'x } " {', "b": {"c": [1, {"d": 2}]}}, {"a": 2}, {"e": "ü"}]


class TestJsonObjectScanner:
    @pytest.mark.parametrize("size", [1, 2, 5, 1000])
    def test_objects_do_not_depend_on_the_piece_size(self, size: int) -> None:
        scanner = JsonObjectScanner()
        assert [o for at in range(0, len(TEXT), size) for o in scanner.feed(TEXT[at : at + size])] == FOUND

    def test_object_is_returned_with_its_last_character(self) -> None:
        scanner = JsonObjectScanner()
        assert scanner.feed('{"a": 1') == []
        assert scanner.feed("}") == [{"a": 1}]
