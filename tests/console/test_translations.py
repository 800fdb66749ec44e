"""Catalogues of the console: complete, without unknown texts, and with the placeholders of the source."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po
from jinja2.ext import babel_extract

from app.console.shell.script_texts import TEXTS
from app.console.shell.translation import FOLDER, translations
from app.core.locales import LANGUAGES

PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w+\}")
CONSOLE = FOLDER.parent
MESSAGES = {"ErrorMessage": None, "marked": None}
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2)} | MESSAGES
TRANSLATED = sorted(set(LANGUAGES) - {"en"})


def marked(path: Path) -> Iterator[str]:
    """Yield the texts of a template or a module: of a module of another package only the messages."""
    keywords = KEYWORDS if path.is_relative_to(CONSOLE) else MESSAGES
    with path.open("rb") as file:
        if path.suffix == ".html":
            messages = [message for _, _, message, _ in babel_extract(file, list(KEYWORDS), [], {})]
        else:
            messages = [message for _, message, _, _ in extract("python", file, keywords=keywords)]
    yield from (message if isinstance(message, str) else message[0] for message in messages)


@cache
def files_of_texts() -> dict[str, set[str]]:
    """Return all texts of the console and messages of services, the singular form of those with two, with their files."""
    files: dict[str, set[str]] = defaultdict(set)
    for path in [*CONSOLE.rglob("templates/**/*.html"), *CONSOLE.parent.rglob("*.py")]:
        for text in marked(path):
            files[text].add(str(path.relative_to(CONSOLE.parent)))
    for text in TEXTS:
        files[text].add("console/assets/src")
    return files


@cache
def catalogue_of(language: str) -> Catalog:
    """Read the catalogue of a language."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


@pytest.mark.parametrize("language", TRANSLATED)
class TestCatalogue:
    def test_catalogue_contains_every_text_and_no_unknown_text(self, language: str) -> None:
        messages = [message for message in catalogue_of(language) if message.id and message.string]
        translated = {m.id if isinstance(m.id, str) else m.id[0]: m for m in messages}
        texts = set(files_of_texts())
        assert (texts - set(translated), set(translated) - texts) == (set(), set())

    def test_placeholders_equal_those_of_the_source(self, language: str) -> None:
        messages = [message for message in catalogue_of(language) if message.id]
        for message in messages:
            ids = (message.id,) if isinstance(message.id, str) else message.id
            forms = (message.string,) if isinstance(message.string, str) else message.string
            for form in forms:
                assert sorted(PLACEHOLDER.findall(form)) == sorted(PLACEHOLDER.findall(ids[-1])), ids

    def test_catalogue_is_compiled(self, language: str) -> None:
        assert translations(language).gettext("Sign in") != "Sign in"
