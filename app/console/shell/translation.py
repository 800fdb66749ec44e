"""Translation of the texts of the console. `locale/<language>.po` contains them; a missing text stays English."""

from pathlib import Path

from babel.support import NullTranslations
from flask import g

from app.access import authentication
from app.core.translations import read_catalog

FOLDER = Path(__file__).parents[1] / "locale"


def translations(language: str) -> NullTranslations:
    """Return the translations into one of the supported languages."""
    return read_catalog(FOLDER, language)


def current_language() -> str:
    """Return the language of the response: that of the user, else the best one of the browser."""
    chosen: str = g.get("console_language") or authentication.browser_language()
    return chosen


def ngettext(singular: str, plural: str, number: int) -> str:
    """Translate a text with the number `%(num)s`."""
    text: str = translations(current_language()).ngettext(singular, plural, number)
    return text % {"num": number}


def gettext(message: str, **values: object) -> str:
    """Translate a text and insert the values by name (`%(name)s`)."""
    text: str = translations(current_language()).gettext(message)
    return text % values if values else text
