"""Translations of Decap CMS: how a collection stores them, and the fields of its entries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.content.schema.model import FieldType, SchemaField

MAX_LOCALES = 20


@dataclass(frozen=True)
class Translations:
    """The locales of a collection, the default one first, and the structure of its files."""

    structure: str | None = None
    locales: Sequence[str] = ()

    @property
    def has_folders(self) -> bool:
        """Return whether each locale has a folder below that of the collection."""
        return self.structure == "multiple_folders"

    def localized(self, fields: Iterable[SchemaField]) -> tuple[SchemaField, ...]:
        """Return the fields of an entry. A file with all translations has an object for each locale.

        Only the default locale has required fields, because an entry may lack translations.
        """
        own = tuple(fields)
        if self.structure != "single_file":
            return own
        optional = tuple(replace(field, required=False) for field in own)
        return tuple(
            SchemaField(locale, FieldType.OBJECT, fields=optional if number else own)
            for number, locale in enumerate(self.locales)
        )


def read_translations(site: Any, own: Any) -> Translations:
    """Return the translations of a collection from the setting `i18n` of the site and its own, which may be `true`."""
    if not isinstance(site, Mapping) or not (own is True or isinstance(own, Mapping)):
        return Translations()
    settings = {**site, **(own if isinstance(own, Mapping) else {})}
    listed, structure = settings.get("locales"), settings.get("structure")
    locales = [name for name in listed if isinstance(name, str) and name] if isinstance(listed, list) else []
    first = settings.get("default_locale", settings.get("defaultLocale"))
    locales.sort(key=lambda name: name != first)
    if not locales or not isinstance(structure, str):
        return Translations()
    return Translations(structure, tuple(dict.fromkeys(locales))[:MAX_LOCALES])
