"""Countries of ISO 3166-1, from a code or an English name to the code that is stored (contract 4.3)."""

import unicodedata
from collections.abc import Iterator
from functools import cache

import pycountry
from babel import Locale

# Still said in English, though neither list has them any more.
FORMER = {
    "Turkey": "TR",
    "Ivory Coast": "CI",
    "Cape Verde": "CV",
    "Swaziland": "SZ",
    "Burma": "MM",
    "East Timor": "TL",
    "Great Britain": "GB",
}


def country_code(text: str) -> str | None:
    """The alpha-2 code of a country given as that code or as its English name, in any letter case; None if unknown."""
    return _codes().get(_plain(text))


@cache
def _codes() -> dict[str, str]:
    known = {country.alpha_2 for country in pycountry.countries}
    names = {_plain(name): code for name, code in _names() if code in known}
    # Codes last: none of them may be hidden by a name.
    return names | {code.casefold(): code for code in known}


def _names() -> Iterator[tuple[str, str]]:
    """ISO's names and the Unicode consortium's: "Korea, Republic of" and "South Korea"."""
    yield from FORMER.items()
    for code, name in Locale("en").territories.items():
        yield name, code
    for country in pycountry.countries:
        for spelling in ("name", "common_name", "official_name"):
            if name := getattr(country, spelling, None):
                yield name, country.alpha_2


def _plain(text: str) -> str:
    """Without accents, letter case and the difference between apostrophes."""
    parts = unicodedata.normalize("NFKD", text.strip().replace("’", "'"))
    return "".join(letter for letter in parts if not unicodedata.combining(letter)).casefold()
