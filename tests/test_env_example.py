"""`.env.example` and the schema say the same."""

import re
from pathlib import Path

from app.core.environment import Environment
from app.core.settings import PROJECT
from config import Settings

LINE = re.compile(r"^#([A-Z][A-Z0-9_]*)=(.*)$", re.MULTILINE)
WRITTEN = dict(LINE.findall((PROJECT / ".env.example").read_text()))


class TestEnvExample:
    def test_it_names_every_variable_and_no_other(self) -> None:
        assert sorted(WRITTEN) == sorted(Environment().fields)

    def test_the_values_it_shows_are_the_defaults(self, tmp_path: Path) -> None:
        own = {"APP_ENV": "development", "INSTANCE_DIR": str(tmp_path)}
        assert Settings.from_environment(WRITTEN | own) == Settings.from_environment(own)

    def test_a_default_that_follows_from_nothing_else_is_shown(self) -> None:
        fixed = {
            name for name, known in Environment().fields.items() if isinstance(known.load_default, str | int | float)
        }
        assert fixed == {name for name, value in WRITTEN.items() if value} - {"INSTANCE_DIR"}
