"""Limits: the scale of rates, and a reader for every limit."""

import dataclasses
import re

import pytest

from app.core import limits
from app.core.limits import Limits, Rate, RateLimits
from app.settings.groups import PROJECT

SOURCES = "\n".join(
    path.read_text()
    for path in [*(PROJECT / "app").rglob("*.py"), PROJECT / "gunicorn.conf.py"]
    if path.samefile(str(limits.__file__)) is False
)
GROUPS = [field.default for field in dataclasses.fields(Limits) if dataclasses.is_dataclass(field.default)]
FIELDS = [
    (type(group).__name__, field.name)
    for group in GROUPS
    if not isinstance(group, RateLimits)
    for field in dataclasses.fields(group)
]
RATES = sorted({field.name.removesuffix("_address") for field in dataclasses.fields(RateLimits)})


class TestLimits:
    @pytest.mark.parametrize(("group", "field"), FIELDS)
    def test_field_is_read_by_the_code(self, group: str, field: str) -> None:
        assert re.search(rf"\.{field}\b", SOURCES)

    @pytest.mark.parametrize("name", RATES)
    def test_rate_is_named_by_the_code(self, name: str) -> None:
        assert re.search(rf"[\"'.]{name}(_address)?\b", SOURCES)


class TestRate:
    @pytest.mark.parametrize(("scale", "times"), [(1, 10), (1000, 10_000), (0.25, 2), (0.001, 1)])
    def test_scale_multiplies_the_number_of_events_with_a_minimum_of_one(self, scale: float, times: int) -> None:
        assert Rate(10, 900).scaled(scale) == Rate(times, 900)
