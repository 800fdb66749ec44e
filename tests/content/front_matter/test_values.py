"""Tests of values that fit JSON and the databases."""

import json
from datetime import UTC, date, datetime, time
from typing import Any

import pytest

from app.content.front_matter.values import MAX_DEPTH, MAX_SIZE, FrontMatterTooLarge, ValueBudget, plain


class TestPlain:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (date(2024, 1, 2), "2024-01-02"),
            (datetime(2024, 1, 2, 3, 4, tzinfo=UTC), "2024-01-02T03:04:00+00:00"),
            (time(3, 4), "03:04:00"),
            (2**63 - 1, 2**63 - 1),
            (2**63, str(2**63)),
            (float("nan"), "nan"),
            (float("-inf"), "-inf"),
            ("a\0b", "a\ufffdb"),
            ("a\ud800b", "a\ufffdb"),
            ("\ud83d\ude00", "😀"),
            ({1: True, None: {"a": [1.5]}}, {"1": True, "null": {"a": [1.5]}}),
        ],
    )
    def test_plain_converts_values_to_json_types(self, value: object, expected: object) -> None:
        plain_values = plain(value, ValueBudget())
        assert plain_values == expected
        json.dumps(plain_values, allow_nan=False).encode()

    def test_depth_is_bounded(self) -> None:
        value: Any = "leaf"
        for _ in range(MAX_DEPTH):
            value = [value]
        assert plain(value, ValueBudget())
        with pytest.raises(FrontMatterTooLarge, match="deeply"):
            plain([value], ValueBudget())

    def test_size_is_bounded_over_all_values(self) -> None:
        budget = ValueBudget()
        plain("x" * (MAX_SIZE - 10), budget)
        with pytest.raises(FrontMatterTooLarge, match="too many values"):
            plain(["x"] * 10, budget)
