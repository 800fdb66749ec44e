"""Limits: each of them is read by the code."""

import dataclasses
import re

import pytest

from app.core import limits
from app.core.limits import Limits
from app.settings.groups import PROJECT

SOURCES = "\n".join(
    path.read_text()
    for path in [*(PROJECT / "app").rglob("*.py"), PROJECT / "gunicorn.conf.py"]
    if not path.samefile(str(limits.__file__))
)
GROUPS = [field.default for field in dataclasses.fields(Limits) if dataclasses.is_dataclass(field.default)]
FIELDS = [(type(group).__name__, field.name) for group in GROUPS for field in dataclasses.fields(group)]


class TestLimits:
    @pytest.mark.parametrize(("group", "field"), FIELDS)
    def test_field_is_read_by_the_code(self, group: str, field: str) -> None:
        assert re.search(rf"\.{field}\b", SOURCES)
