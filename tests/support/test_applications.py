"""Tests of the memory that test applications release."""

import gc
from pathlib import Path

from sqlalchemy.engine import Dialect

from config import Settings
from tests.support.applications import application
from tests.support.world import World


def count_dialects() -> int:
    gc.collect()
    return sum(isinstance(thing, Dialect) for thing in gc.get_objects())


class TestApplication:
    def test_end_releases_the_engines_and_their_statements(self, tmp_path: Path) -> None:
        counts = []
        for number in range(3):
            settings = Settings.for_tests(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path}/{number}.db")
            with application(settings) as app:
                World(app).person().new_organization()
            del app
            counts.append(count_dialects())
        assert counts[1] == counts[2]
