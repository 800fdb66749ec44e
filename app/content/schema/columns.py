"""The fields of a collection that a list of its entries shows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from app.content.draft_state import DraftField
from app.content.field_values import ValueKind, kind_of, moment_of, text_of_key, value_of
from app.content.schema.collection_groups import CollectionLanguage
from app.content.schema.date_formats import has_time, parsed
from app.content.schema.model import FieldType, SchemaField
from app.content.schema.relations import TITLES, relation_of

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
MAX_CHOICES, MAX_ORDERS = 3, 10
MIN_ENTRIES, MAX_OPTION, MAX_RELATED = 3, 40, 100
"""A filter has options of at most 40 characters, or at most 100 related entries. Three entries have a value."""

_DAYS = (FieldType.DATE, FieldType.DATETIME)
_TEXTS = (FieldType.STRING, FieldType.TEXT, FieldType.SELECT, FieldType.MIXED)
_CHOICES = (FieldType.SELECT, FieldType.RELATION, FieldType.BOOLEAN)
"""Types of the fields that a list can filter, in the order of its filters."""

_SORTED = (FieldType.STRING, FieldType.SELECT, FieldType.NUMBER, FieldType.BOOLEAN, *_DAYS)
"""Types of the fields by which a list can be sorted."""

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

    Entries can be grouped by the fields `groups`, and sorted by `orders` besides the title and the date. `labels` are
    the declared labels of all fields, and `relations` the fields that name entries of another collection.
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
    orders: tuple[str, ...]
    relations: Mapping[str, SchemaField]

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
    types, known = (*_CHOICES, FieldType.IMAGE, *_DAYS), (*AUTHORS, *IMAGES)
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
    draft = language.collection.draft_field()
    # A title or summary with few different values is no choice.
    others = {title, summary, draft.name if draft is not None else None}
    possible = {name: field for name, field in fields.items() if name not in others and not field.multiple}
    choices = list(islice(_choices(possible, counts, is_declared=is_declared), MAX_CHOICES))
    authors = sorted(AUTHORS, key=lambda name: -totals.get(f"{prefix}{name}", 0))
    author = find(authors, (*_TEXTS, FieldType.LIST, FieldType.RELATION))
    sortable = [name for name, field in possible.items() if field.type in _SORTED and name not in (date, image)]
    groups = [name for name in (*(choice.name for choice in choices), author) if name is not None]
    return Columns(
        title=title,
        date=date,
        date_format=fields[date].date_format if date is not None else None,
        summary=summary,
        image=image,
        author=author,
        draft=draft,
        has_dated_names=has_dated_names,
        choices=tuple(choices),
        labels={name: field.label if is_declared else None for name, field in every.items()},
        groups=tuple(
            name for name in dict.fromkeys(groups) if fields[name].type not in (FieldType.MIXED, FieldType.BOOLEAN)
        ),
        orders=tuple(sortable[:MAX_ORDERS]) if is_declared else (),
        relations={name: relation for name, field in every.items() if (relation := relation_of(field)) is not None},
    )


def _choices(
    fields: Mapping[str, SchemaField], counts: Mapping[str, Mapping[str, int]] | None, *, is_declared: bool
) -> Iterator[SchemaField]:
    """Yield the fields with several values by which a list can be filtered, in the order of their types."""
    for kind in _CHOICES if is_declared else [kind for kind in _CHOICES if kind is not FieldType.BOOLEAN]:
        for name, field in fields.items():
            if field.type is not kind or "." in name:
                continue
            values = None if counts is None else counts[name]
            options = _options(field, values)
            if len(options) > 1 and (values is None or (len(values) > 1 and sum(values.values()) >= MIN_ENTRIES)):
                yield replace(field, options=options)


def _options(field: SchemaField, counts: Mapping[str, int] | None) -> tuple[object, ...]:
    """Return the values by which a list can be filtered. Those of a relation are known from the entries only."""
    if field.type is FieldType.BOOLEAN:
        return ("true", "false")
    if field.type is FieldType.SELECT:
        return tuple(option for option in field.options if len(str(option)) <= MAX_OPTION)
    texts = sorted(filter(None, map(text_of_key, counts or {})))
    return tuple(texts) if len(texts) <= MAX_RELATED else ()


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
