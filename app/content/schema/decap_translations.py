"""Translations of the entries of Decap CMS and Sveltia CMS: the setting `i18n`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from app.content.schema.model import MAX_LOCALES, FieldType, SchemaField

LOCALE = "{{locale}}"


class Structure(StrEnum):
    """The place of the translations of an entry: in one file, or in files with the locale in their path."""

    SINGLE_FILE = "single_file"
    DEFAULT_AT_ROOT = "single_file_default_root"
    FOLDERS = "multiple_folders"
    FILES = "multiple_files"
    ROOT_FOLDERS = "multiple_root_folders"
    PLACEHOLDER = "placeholder"


STRUCTURES = tuple(structure for structure in Structure if structure is not Structure.PLACEHOLDER)
OLD_NAMES = {"multiple_folders_i18n_root": Structure.ROOT_FOLDERS}


@dataclass(frozen=True)
class Translations:
    """The locales of a collection, the default one first, and the structure of its files."""

    structure: Structure | None = None
    locales: tuple[str, ...] = ()
    omits_default: bool = False

    @property
    def has_folders(self) -> bool:
        """Return whether each locale has a folder below that of the collection."""
        return self.structure is Structure.FOLDERS

    @property
    def has_suffixes(self) -> bool:
        """Return whether the names of files end with their locales."""
        return self.structure is Structure.FILES

    @property
    def has_root_folders(self) -> bool:
        """Return whether each locale has a folder of the repository."""
        return self.structure is Structure.ROOT_FOLDERS

    @property
    def has_files(self) -> bool:
        """Return whether each locale has an own file."""
        return self.structure not in (None, Structure.SINGLE_FILE, Structure.DEFAULT_AT_ROOT)

    def is_omitted(self, locale: str) -> bool:
        """Return whether the paths of a locale do not contain it."""
        return self.omits_default and locale == self.locales[0]

    def path_of(self, slug: str, extension: str) -> str:
        """Return the path of a new entry of the default locale below the folder of the collection."""
        locale = self.locales[0] if self.locales and not self.is_omitted(self.locales[0]) else ""
        slug = slug.replace(LOCALE, self.locales[0] if self.locales else "")
        folder, suffix = f"{locale}/" if self.has_folders else "", f".{locale}" if self.has_suffixes else ""
        return f"{folder if locale else ''}{slug}{suffix if locale else ''}.{extension}"

    def file_of(self, path: str, locale: str) -> str:
        """Return the path of a file in a locale."""
        folder, separator, base = path.rpartition("/")
        stem, dot, ending = base.rpartition(".")
        if self.structure is Structure.PLACEHOLDER:
            text = path.replace(f".{LOCALE}", "").replace(f"{LOCALE}/", "") if self.is_omitted(locale) else path
            return text.replace(LOCALE, locale)
        if self.is_omitted(locale):
            return path
        if self.has_root_folders:
            return f"{locale}/{path}"
        return (
            f"{folder}{separator}{locale}/{base}"
            if self.has_folders
            else f"{folder}{separator}{stem}.{locale}{dot}{ending}"
        )

    def localized(self, fields: Iterable[SchemaField]) -> tuple[SchemaField, ...]:
        """Return the fields of an entry. A file with all translations has an object for each locale.

        Only the default locale has required fields, because an entry may lack translations. The other locales have
        translated fields only.
        """
        own = tuple(fields)
        if self.has_files or self.structure is None:
            return own
        optional = tuple(replace(field, required=False) for field in own if field.translated)
        objects = [SchemaField(locale, FieldType.OBJECT, fields=optional) for locale in self.locales[1:]]
        if self.structure is Structure.DEFAULT_AT_ROOT:
            return (*own, *objects)
        return (SchemaField(self.locales[0], FieldType.OBJECT, fields=own), *objects)


def read_translations(site: object, own: object, file: object = None, *, is_file: bool = False) -> Translations:
    """Return the translations of a collection from the setting `i18n` of the site and its own, which may be `true`.

    A file of a collection of files has translations only if its setting says so.
    """
    parts = [part for part in (site, own, file) if isinstance(part, Mapping)]
    enabled = file if is_file else own
    if not isinstance(site, Mapping) or not (enabled is True or isinstance(enabled, Mapping)):
        return Translations()
    settings = {name: value for part in parts for name, value in part.items()}
    listed, structure = settings.get("locales"), settings.get("structure", Structure.SINGLE_FILE if is_file else None)
    locales = [name for name in listed if isinstance(name, str) and name] if isinstance(listed, list) else []
    first = settings.get("default_locale", settings.get("defaultLocale"))
    locales.sort(key=lambda name: name != first)
    structure = OLD_NAMES.get(structure, structure) if isinstance(structure, str) else None
    if not locales or structure not in STRUCTURES:
        return Translations()
    omits = settings.get("omit_default_locale_from_file_path", settings.get("omit_default_locale_from_filename"))
    return Translations(Structure(structure), tuple(dict.fromkeys(locales))[:MAX_LOCALES], omits is True)
