"""Tests of rows of typed values: kinds, names and the order of keys."""

import random

from app.content.field_values import MAX_VALUES, ValueKind, field_values, key_of, number_key


class TestFieldValues:
    def test_nested_values_have_dotted_names_and_numbers(self) -> None:
        values = {"a": {"b": [1, {"c": "x"}], "n": None}, "t": "two\nlines", "i": "/a/b.PNG?x"}
        assert [(v.name, v.number, v.kind) for v in field_values(values)] == [
            ("a", 0, ValueKind.OBJECT),
            ("a.b", 0, ValueKind.LIST),
            ("a.b.*", 1, ValueKind.NUMBER),
            ("a.b.*", 2, ValueKind.OBJECT),
            ("a.b.*.c", 2, ValueKind.STRING),
            ("t", 0, ValueKind.TEXT),
            ("i", 0, ValueKind.IMAGE),
        ]

    def test_values_are_bounded_and_distinct(self) -> None:
        wide = {f"k{n}": [[[n] * 50] * 50] * 50 for n in range(500)}
        rows = field_values(wide)
        assert len(rows) == len({(row.name, row.number) for row in rows}) == MAX_VALUES


class TestKeys:
    def test_numbers_sort_by_value(self) -> None:
        numbers = [random.Random(1).uniform(-1e9, 1e9) for _ in range(100)] + [0.0, -1.0, 1e300, -1e300]
        assert sorted(numbers, key=number_key) == sorted(numbers)
        assert number_key(-0.0) == number_key(0)

    def test_times_are_compared_in_utc_and_invalid_dates_are_text(self) -> None:
        assert key_of("2026-01-01T01:00:00+02:00") == key_of("2025-12-31 23:00:00 Z")
        assert key_of("2026-01-01") < key_of("2026-01-01T00:00:00")
        assert key_of("2026-02-30") == "42026-02-30"

    def test_long_texts_with_equal_starts_have_different_keys(self) -> None:
        assert key_of("x" * 300 + "a") != key_of("x" * 300 + "b")
