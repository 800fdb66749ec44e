"""Tests of the generated reference of the settings."""

import re
from pathlib import Path

from app.settings import reference
from app.settings.variables import Environment
from config import Settings

DEFAULTS = dict(re.findall(r"^#([A-Z][A-Z0-9_]*)=(.*)$", reference.env_example(), re.MULTILINE))


class TestEnvExample:
    def test_file_equals_the_generated_text(self) -> None:
        assert reference.ENV_EXAMPLE.read_text() == reference.env_example(), "Run `make reference`."

    def test_variables_are_each_listed_once(self) -> None:
        names = re.findall(r"^#([A-Z][A-Z0-9_]*)=", reference.env_example(), re.MULTILINE)
        assert sorted(names) == sorted(Environment().fields)

    def test_values_equal_the_defaults(self, tmp_path: Path) -> None:
        own = {"APP_ENV": "development", "INSTANCE_DIR": str(tmp_path)}
        assert Settings.from_environment(DEFAULTS | own) == Settings.from_environment(own)

    def test_lines_have_at_most_120_characters(self) -> None:
        assert max(map(len, reference.env_example().splitlines())) <= 120


class TestDocument:
    def test_page_equals_the_generated_table(self) -> None:
        text = reference.DOCUMENT.read_text()
        assert text == reference.document(text), "Run `make reference`."

    def test_variables_have_a_row_and_a_description(self) -> None:
        rows = dict(re.findall(r"^\| `([A-Z0-9_]+)` \|.*\| ([^|]+) \|$", reference.markdown(), re.MULTILINE))
        assert sorted(rows) == sorted(Environment().fields)
        assert all(text.rstrip(".") for text in rows.values())

    def test_bounds_and_secrets_are_shown(self) -> None:
        table = reference.markdown()
        assert "| `PORT` | number, 1 to 65,535 | `8000` | Port on which the server listens. |" in table
        assert (
            "| `METRICS_TOKEN` | text |  | Bearer token for GET /metrics. Without it the endpoint is closed. Secret. |"
            in table
        )
