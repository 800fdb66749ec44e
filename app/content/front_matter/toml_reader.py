"""Reader of TOML in bounded time.

`tomllib` and `tomlkit` take quadratic time and memory for dotted keys, so their number of parts is limited first.
"""

import re
import tomllib
from collections.abc import Callable
from datetime import datetime, time

from app.content.front_matter.values import MAX_DEPTH, FrontMatterTooLarge

# Strings without an end match to the end of the line or text: a hostile text is scanned only once.
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?|' + r"'''(?:[^']|'(?!''))*+(?:'{3,5})?|"
    r'"(?:[^"\\\n]|\\.)*+"?|' + r"'[^'\n]*+'?|#[^\n]*+|"
    r"(?P<date>(?<![\w.+-])(?:\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?)?"
    r"|\d\d:\d\d:\d\d(?:\.\d+)?)(?![\w.:+-]))",
    re.DOTALL,
)
_DOT = re.compile(r"(?<=[\w-])[ \t]*+\.")
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}")


def read_toml(text: str, *, parse_float: Callable[[str], object] = float) -> dict[str, object]:
    """Return the values of a TOML document. Dates and times are text, so that they keep their notation.

    Raises:
        ValueError: the text is not valid TOML.
        FrontMatterTooLarge: a key has too many parts.
        RecursionError: it is nested too deeply.
    """
    if _DEEP_KEY.search(_without_strings(text)):
        raise FrontMatterTooLarge("It is nested too deeply")
    return tomllib.loads(_TOKEN.sub(_quote_date, text).replace("\r\n", "\n"), parse_float=parse_float)


def count_dots(text: str) -> int:
    """Return the number of dots in the keys and numbers of a TOML document."""
    return len(_DOT.findall(_without_strings(text)))


def _without_strings(text: str) -> str:
    return _TOKEN.sub("_", text)


def _quote_date(token: re.Match[str]) -> str:
    """Return a date or time in quotes. Other tokens, and what is no date, remain."""
    text = token["date"]
    try:
        (time if text and text[2] == ":" else datetime).fromisoformat(text or "")
    except ValueError:
        return token[0]
    return f'"{text}"'
