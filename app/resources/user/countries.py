"""Countries of ISO 3166-1: from a code or an English name to the alpha-2 code that is stored (contract 4.3)."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

import pycountry
from babel import Locale

# Names of common lists that neither ISO nor the Unicode consortium has.
ALIASES = {
    "Burma": "MM",
    "Cape Verde": "CV",
    "Democratic Republic of the Congo": "CD",
    "DPRK": "KP",
    "DR Congo": "CD",
    "DRC": "CD",
    "Congo DRC": "CD",
    "Congo, Dem. Rep.": "CD",
    "Congo, Rep.": "CG",
    "East Timor": "TL",
    "Great Britain": "GB",
    "Holland": "NL",
    "Holy See": "VA",
    "Ivory Coast": "CI",
    "Korea, Dem. Rep.": "KP",
    "Korea, Rep.": "KR",
    "Lao PDR": "LA",
    "Macau": "MO",
    "Macedonia": "MK",
    "Macedonia, the former Yugoslav Republic of": "MK",
    "Palestine": "PS",
    "Republic of Ireland": "IE",
    "Swaziland": "SZ",
    "Turkey": "TR",
    "UAE": "AE",
    "UK": "GB",
    "USA": "US",
    "Vatican": "VA",
}
AMBIGUOUS = {
    "Congo": ("Congo - Brazzaville", "Congo - Kinshasa"),
    "Korea": ("South Korea", "North Korea"),
    "Virgin Islands": ("British Virgin Islands", "U.S. Virgin Islands"),
}
_IGNORED_TERMS = frozenset({"the", "of", "and"})

_Key = tuple[str, ...]


class AmbiguousCountry(ValueError):
    """A name that several countries share. The message names them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"This name is ambiguous. Use {' or '.join(names)}, or a two-letter code.")


def country_code(text: str) -> str | None:
    """Return the alpha-2 code of a country, or None for an unknown one.

    The text is a code or an English name. Letter case, accents, punctuation and the order of words do not matter, so
    "Korea (Republic of)" equals "Republic of Korea".

    Raises:
        AmbiguousCountry: several countries have the name.
    """
    names, codes = _tables()
    code = codes.get(text.strip().casefold())
    if code is not None:
        return code
    key = _key(text)
    if key in (ambiguous := _ambiguous()):
        raise AmbiguousCountry(ambiguous[key])
    return names.get(key)


@cache
def country_codes() -> tuple[str, ...]:
    """Return the alpha-2 codes in alphabetical order."""
    return tuple(sorted(country.alpha_2 for country in pycountry.countries))


@cache
def _tables() -> tuple[dict[_Key, str], dict[str, str]]:
    codes = set(country_codes())
    names = {_key(name): code for name, code in _names() if code in codes}
    return names, {code.casefold(): code for code in codes}


@cache
def _ambiguous() -> dict[_Key, tuple[str, ...]]:
    return {_key(name): names for name, names in AMBIGUOUS.items()}


def _names() -> Iterator[tuple[str, str]]:
    """Yield the names of ISO ("Korea, Republic of") and of the Unicode consortium ("South Korea") with their codes."""
    yield from ALIASES.items()
    for code, name in Locale("en").territories.items():
        yield name, code
    for country in pycountry.countries:
        for attribute in ("name", "common_name", "official_name"):
            if name := getattr(country, attribute, None):
                yield name, country.alpha_2


def _key(text: str) -> _Key:
    """Return the sorted words of a name without accents, letter case and words such as "the"."""
    letters = unicodedata.normalize("NFKD", text.replace("&", " and "))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
    joined = re.sub(r"\b([a-z])\.(?=[a-z]\b)", r"\1", plain)  # "u.s." is one word
    terms = ("saint" if term == "st" else term for term in re.findall(r"\w+", joined))
    return tuple(sorted(term for term in terms if term not in _IGNORED_TERMS))
