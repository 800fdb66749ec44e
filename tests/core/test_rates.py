"""Rates: their scale, and the use of each row of the table."""

import dataclasses
import re

import pytest

from app.core import rates
from app.core.rates import Rate, RateLimits
from app.settings.groups import PROJECT

SOURCES = "\n".join(
    path.read_text() for path in (PROJECT / "app").rglob("*.py") if not path.samefile(str(rates.__file__))
)
ROWS = sorted({field.name.removesuffix("_address") for field in dataclasses.fields(RateLimits)})


class TestRate:
    @pytest.mark.parametrize(("scale", "times"), [(1, 10), (1000, 10_000), (0.25, 2), (0.001, 1)])
    def test_scale_multiplies_the_number_of_events_with_a_minimum_of_one(self, scale: float, times: int) -> None:
        assert Rate(10, 900).scaled(scale) == Rate(times, 900)


class TestRateLimits:
    @pytest.mark.parametrize("row", ROWS)
    def test_row_is_named_by_the_code(self, row: str) -> None:
        assert re.search(rf"[\"'.]{row}(_address)?\b", SOURCES)
