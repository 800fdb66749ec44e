"""The fields of a collection that a list of its entries shows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from app.content.draft_state import DraftField
from app.content.field_values import ValueKind, kind_of, moment_of, value_of
from app.content.schema.collection_groups import CollectionLanguage
from app.content.schema.date_formats import has_time, parsed
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
MIN_ENTRIES, MAX_OPTION = 3, 40
"""A filter has options of at most 40 characters. At least three entries have a value."""

_DAYS = (FieldType.DATE, FieldType.DATETIME)
_TEXTS = (FieldType.STRING, FieldType.TEXT, FieldType.SELECT, FieldType.MIXED)
_ENDS = re.compile(r"expir|end_?(?:date|time|$)|until|due|unpublish", re.IGNORECASE)
"""Starts of the names of dates that are not those of an entry."""


DATED_NAME = re.compile(r"\d{4}-\d\d-\d\d(?=-)")
"""The date at the start of a file name."""


@dataclass(frozen=True)
class ListedDate:
    """A date of front matter: the text of the file, and its moment."""

    text: str
    moment: datetime
    has_time: bool

    def is_after(self, now: datetime) -> bool:
        """Return whether the date is in the future. A moment without a time zone is one of UTC."""
        return (self.moment if self.moment.tzinfo is not None else self.moment.replace(tzinfo=UTC)) > now


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

    def date_of(self, path: str, values: Mapping[str, Any]) -> ListedDate | None:
        """Return the date of an entry: that of the field, else that of the file name."""
        value = value_of(values, self.date) if self.date else None
        name = DATED_NAME.match(path.rpartition("/")[2]) if self.has_dated_names else None
        if self.date_format is not None and isinstance(value, str | int):
            moment = parsed(str(value), self.date_format)
            if moment is not None:
                return ListedDate(str(value), moment, has_time(self.date_format))
        for text in (value if isinstance(value, str) else "", name[0] if name is not None else ""):
            kind = kind_of(text)
            moment = moment_of(text) if kind in (ValueKind.DATE, ValueKind.DATETIME) else None
            if moment is not None:
                return ListedDate(text, moment, kind is ValueKind.DATETIME)
        return None

    @property
    def default_sort(self) -> str:
        """The order without a choice: the newest entries first if they have a date, else by path."""
        if self.date is not None:
            return f"-{self.date}"
        return "-path" if self.has_dated_names else "path"


def counted_names(language: CollectionLanguage) -> list[str]:
    """Return the names of the fields that a list shows only if entries have a value."""
    types, known = (FieldType.SELECT, FieldType.IMAGE, *_DAYS), (*AUTHORS, *IMAGES)
    return [name for name, field in _named(language).items() if field.type in types or field.name in known]


def columns_of(
    language: CollectionLanguage, *, is_declared: bool, counts: Mapping[str, Mapping[str, int]] | None = None
) -> Columns:
    """Return the fields that a list of a collection shows. Labels of an inferred schema are not shown.

    `counts` are the numbers of the values of `counted_names`, by the keys of the values. None if they are unknown.
    """
    prefix = f"{language.field}." if language.field else ""
    every = _named(language)
    unused = set() if counts is None else set(counted_names(language)) - counts.keys()
    fields = {name: field for name, field in every.items() if name not in unused}
    template = language.collection.template
    names = {name.removeprefix(prefix): name for name in fields}
    totals = {name: sum(values.values()) for name, values in (counts or {}).items()}

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
    choices = [
        replace(field, options=options)
        for name, field in selects.items()
        if field.type is FieldType.SELECT and not field.multiple
        if len(options := tuple(text for text in field.options if len(str(text)) <= MAX_OPTION)) > 1
        if counts is None or (len(counts[name]) > 1 and totals[name] >= MIN_ENTRIES)
    ]
    authors = sorted(AUTHORS, key=lambda name: -totals.get(f"{prefix}{name}", 0))
    author = find(authors, (*_TEXTS, FieldType.LIST, FieldType.RELATION))
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
        labels={name: field.label if is_declared else None for name, field in every.items()},
        groups=tuple(name for name in dict.fromkeys(groups) if fields[name].type is not FieldType.MIXED),
    )


def _named(language: CollectionLanguage) -> dict[str, SchemaField]:
    """Return the fields by the names that entries have."""
    prefix = f"{language.field}." if language.field else ""
    return {f"{prefix}{name}": field for name, field in _flat(language.fields)}


def _flat(fields: Sequence[SchemaField]) -> Iterator[tuple[str, SchemaField]]:
    """Yield the fields by name, and those of objects with dotted names."""
    for field in fields:
        yield field.name, field
        for inner in field.fields if field.type is FieldType.OBJECT else ():
            yield f"{field.name}.{inner.name}", inner


def _has_type(field: SchemaField, types: Sequence[FieldType]) -> bool:
    return field.type in types or (field.type is FieldType.MIXED and any(kind in types for kind in field.types))
