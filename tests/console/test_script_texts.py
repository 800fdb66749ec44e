"""Texts of the scripts and their translations."""

import re
from pathlib import Path

from app.console.shell import script_texts

SOURCES = Path(script_texts.__file__).parents[1] / "assets" / "src"
CALL = re.compile(r'(?<![.\w])text\("((?:[^"\\]|\\.)*)"')


class TestTexts:
    def test_texts_equal_those_of_the_scripts(self) -> None:
        used = {match[1] for file in SOURCES.rglob("*.ts") for match in CALL.finditer(file.read_text())}
        assert set(script_texts.TEXTS) == used
