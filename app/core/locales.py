"""Interface languages and time zones that a user may choose (spec 8; contract 4.5)."""

from enum import StrEnum
from functools import cache
from zoneinfo import available_timezones


class Language(StrEnum):
    """The 15 supported locales."""

    ENGLISH = "en"
    CHINESE = "zh"
    HINDI = "hi"
    SPANISH = "es"
    FRENCH = "fr"
    ARABIC = "ar"
    BENGALI = "bn"
    PORTUGUESE = "pt"
    RUSSIAN = "ru"
    INDONESIAN = "id"
    GERMAN = "de"
    JAPANESE = "ja"
    VIETNAMESE = "vi"
    KOREAN = "ko"
    ITALIAN = "it"


LANGUAGES = tuple(language.value for language in Language)
RTL_LANGUAGES = frozenset({Language.ARABIC.value})


@cache
def time_zones() -> frozenset[str]:
    """Return all IANA names. Names are looked up in this set and never as files, so a path is not accepted."""
    # Files that some systems store among the time zones and that are not zones.
    return frozenset(available_timezones() - {"localtime", "Factory"})


def is_time_zone(name: str) -> bool:
    """Return whether a text is an IANA zone name in the spelling of IANA."""
    return name in time_zones()
