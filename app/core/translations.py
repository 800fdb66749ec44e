"""Catalogues of translated texts: one `.po` file for each language, read by Babel."""

import io
from functools import cache
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations

from app.core.locales import LANGUAGES


@cache
def read_catalog(folder: Path, language: str) -> NullTranslations:
    """Return the texts of `<folder>/<language>.po`. Without this file the catalogue is empty, so texts stay English."""
    source = folder / f"{language}.po"
    if language not in LANGUAGES or not source.exists():
        return NullTranslations()
    compiled = io.BytesIO()
    with source.open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return Translations(compiled)
