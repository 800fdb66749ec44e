"""The fields of a collection that a list of its entries shows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.content.draft_state import DraftField
from app.content.schema.collection_groups import CollectionLanguage
from app.content.schema.model import FieldType, SchemaField
from app.content.schema.relations import TITLES

DATES = (
    "date",
    "pubDate",
    "publishDate",
    "published",
    "publishedAt",
    "pubdate",
    "date_published",
    "created",
    "createdAt",
)
SUMMARIES = ("description", "summary", "excerpt", "subtitle", "lead", "intro", "tagline")
IMAGES = ("image", "cover", "thumbnail", "heroImage", "hero", "featured_image", "banner", "ogImage", "photo")
AUTHORS = ("author", "authors", "byline", "writer")
MAX_CHOICES = 3
_DAYS = (FieldType.DATE, FieldType.DATETIME)
_TEXTS = (FieldType.STRING, FieldType.TEXT, FieldType.SELECT, FieldType.MIXED)
_ENDS = re.compile(r"expir|end_?(?:date|time|$)|until|due|unpublish", re.IGNORECASE)
"""Starts of the names of dates that are not those of an entry."""


@dataclass(frozen=True)
class Columns:
    """The names of the fields that a list shows, or None. Nested fields have dotted names.

    Entries can be grouped by the fields `groups`. `labels` are the declared labels of all fields.
    """

    title: str | None
    date: str | None
    date_format: str | None
    summary: str | None
    image: str | None
    author: str | None
    draft: DraftField | None
    has_dated_names: bool
    choices: tuple[SchemaField, ...]
    labels: Mapping[str, str | None]
    groups: tuple[str, ...]

    @property
    def has_dates(self) -> bool:
        """Return whether entries have a date, from a field or from the file name."""
        return self.date is not None or self.has_dated_names

    @property
    def has_drafts(self) -> bool:
        """Return whether entries have a draft state."""
        return self.draft is not None

    @property
    def default_sort(self) -> str:
        """The order without a choice: the newest entries first if they have a date, else by path."""
        if self.date is not None:
            return f"-{self.date}"
        return "-path" if self.has_dated_names else "path"


def columns_of(language: CollectionLanguage, *, is_declared: bool) -> Columns:
    """Return the fields that a list of a collection shows. Labels of an inferred schema are not shown."""
    prefix = f"{language.field}." if language.field else ""
    fields = {f"{prefix}{name}": field for name, field in _flat(language.fields)}
    template = language.collection.template
    names = {name.removeprefix(prefix): name for name in fields}

    def find(known: Sequence[str], types: Sequence[FieldType]) -> str | None:
        return next((names[name] for name in known if name in names and _has_type(fields[names[name]], types)), None)

    def first(types: Sequence[FieldType], *, is_usual: bool = False) -> str | None:
        usual = ((name, field) for name, field in fields.items() if field.required or not is_usual)
        return next((name for name, field in usual if field.type in types and not _ENDS.match(field.name)), None)

    has_dated_names = template is not None and template.path.startswith("{{year}}-")
    date = find(DATES, _DAYS) or (None if has_dated_names else first(_DAYS, is_usual=not is_declared))
    if date is not None and has_dated_names and not fields[date].required:
        date = None  # Each entry has the date of its file name, but not each has the field.
    image = find(IMAGES, (FieldType.IMAGE,)) or first((FieldType.IMAGE,)) or find(IMAGES, (FieldType.STRING,))
    title, summary = find(TITLES, _TEXTS), find(SUMMARIES, _TEXTS)
    # A title or summary with few different values is no choice.
    selects = {name: field for name, field in fields.items() if name not in (title, summary) and "." not in name}
    choices = [f for f in selects.values() if f.type is FieldType.SELECT and not f.multiple and len(f.options) > 1]
    author = find(AUTHORS, (*_TEXTS, FieldType.LIST, FieldType.RELATION))
    groups = [name for name in (*(choice.name for choice in choices[:MAX_CHOICES]), author) if name is not None]
    return Columns(
        title=title,
        date=date,
        date_format=fields[date].date_format if date is not None else None,
        summary=summary,
        image=image,
        author=author,
        draft=language.collection.draft_field(),
        has_dated_names=has_dated_names,
        choices=tuple(choices[:MAX_CHOICES]),
        labels={name: field.label if is_declared else None for name, field in fields.items()},
        groups=tuple(name for name in dict.fromkeys(groups) if fields[name].type is not FieldType.MIXED),
    )


def _flat(fields: Sequence[SchemaField]) -> Iterator[tuple[str, SchemaField]]:
    """Yield the fields by name, and those of objects with dotted names."""
    for field in fields:
        yield field.name, field
        for inner in field.fields if field.type is FieldType.OBJECT else ():
            yield f"{field.name}.{inner.name}", inner


def _has_type(field: SchemaField, types: Sequence[FieldType]) -> bool:
    return field.type in types or (field.type is FieldType.MIXED and any(kind in types for kind in field.types))
