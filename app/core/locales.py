"""The interface languages and the time zones a person may choose (spec 8; contract 4.5)."""

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


@cache
def time_zones() -> frozenset[str]:
    """Every IANA name; a name is looked up here and never as a file, so that no path is a zone."""
    # Files that some systems keep among the zones, but which name no place.
    return frozenset(available_timezones() - {"localtime", "Factory"})


def is_time_zone(name: str) -> bool:
    """Whether it is an IANA zone name, spelt as IANA spells it."""
    return name in time_zones()
