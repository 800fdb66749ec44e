"""Rows of a list of entries: title, summary, date, state, author and image from the fields of the collection."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.access.scope import ProjectScope
from app.console.project.images import find_images, has_thumbnail
from app.console.shell.field_labels import label_of
from app.console.shell.translation import gettext as _
from app.content.draft_state import DraftField, is_draft
from app.content.field_values import ValueKind, kind_of, moment_of, value_of
from app.content.schema.collection_groups import CollectionLanguage
from app.content.schema.model import FieldType, SchemaField
from app.content.schema.relations import TITLES
from app.core import clock
from app.resources.project_content.tree.folder_listing import blob_shas, logged_changes, titles_of

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
MAX_SUMMARY, MAX_CHOICES = 300, 3
_DATED_NAME = re.compile(r"\d{4}-\d\d-\d\d(?=-)")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^)\s\[]*\)")
_INDEX = re.compile(r"_?index\.")
_DAYS = (FieldType.DATE, FieldType.DATETIME)
_TEXTS = (FieldType.STRING, FieldType.TEXT, FieldType.SELECT, FieldType.MIXED)
_ENDS = re.compile(r"expir|end_?(?:date|time|$)|until|due|unpublish", re.IGNORECASE)
"""Starts of the names of dates that are not those of an entry."""


@dataclass(frozen=True)
class ListedDate:
    """A date of front matter: the text of the file, and its moment."""

    text: str
    moment: datetime
    has_time: bool


@dataclass(frozen=True)
class EntryImage:
    """An image of the repository: its path, and the sha that names its thumbnail, or an empty text without one."""

    path: str
    sha: str


@dataclass(frozen=True)
class ListedEntry:
    """An entry of a list. `group` is the text of its heading if the list is grouped."""

    path: str
    title: str
    summary: str
    date: ListedDate | None
    state: str
    author: str
    image: EntryImage | None
    group: str | None

    @property
    def name(self) -> str:
        """The name of the file, with its folder if all entries have the same name."""
        folder, _, name = self.path.rpartition("/")
        return f"{folder.rpartition('/')[2]}/{name}" if _INDEX.match(name) else name


@dataclass(frozen=True)
class Columns:
    """The names of the fields that a list shows, or None. Nested fields have dotted names.

    Entries can be grouped by the fields `groups`.
    """

    title: str | None
    date: str | None
    summary: str | None
    image: str | None
    author: str | None
    draft: DraftField | None
    has_dated_names: bool
    choices: tuple[SchemaField, ...]
    labels: Mapping[str, str]
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

    @property
    def headings(self) -> dict[str, str]:
        """The headings of the columns: the labels of the fields, as the form of an entry shows them."""
        usual = {"image": _("Image"), "title": _("Title"), "date": _("Date"), "author": _("Author")}
        names = {"image": self.image, "title": self.title, "date": self.date, "author": self.author}
        return {column: self.labels.get(names[column] or "", text) for column, text in usual.items()}


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
    groups = [name for name in (*(each.name for each in choices[:MAX_CHOICES]), author) if name is not None]
    return Columns(
        title=title,
        date=date,
        summary=summary,
        image=image,
        author=author,
        draft=language.collection.draft_field(),
        has_dated_names=has_dated_names,
        choices=tuple(choices[:MAX_CHOICES]),
        labels={name: (is_declared and field.label) or label_of(field.name) for name, field in fields.items()},
        groups=tuple(name for name in dict.fromkeys(groups) if fields[name].type is not FieldType.MIXED),
    )


def rows_of(
    scope: ProjectScope, columns: Columns, entries: Sequence[Mapping[str, Any]], *, group: str
) -> list[ListedEntry]:
    """Return the rows of a page of entries. Titles, images and last changes are read with few statements."""
    paths = [one["path"] for one in entries]
    titles = titles_of(scope.project, scope.index, paths)
    unknown = [one["path"] for one in entries if one["last_commit"] is None]
    changes = logged_changes(scope.project.id, unknown) if unknown and columns.author is None else {}
    sources = dict(_images(columns, entries))
    images = find_images(scope, ((source, path) for path, source in sources.items()))
    shas = blob_shas(scope.index, set(filter(has_thumbnail, images.values())))
    rows = []
    for one in entries:
        path, fields = one["path"], one["fields"]
        date = _date(fields, columns, path)
        author = _text(value_of(fields, columns.author))[:MAX_SUMMARY] if columns.author else ""
        commit = one["last_commit"] or changes.get(path) or {}
        image = images.get((sources.get(path, ""), path))
        rows.append(
            ListedEntry(
                path=path,
                title=_text(value_of(fields, columns.title) if columns.title else None)
                or titles.get(path)
                or _title_of(path),
                summary=_text(value_of(fields, columns.summary))[:MAX_SUMMARY] if columns.summary else "",
                date=date,
                state=_state(fields, date, columns.draft),
                author=_LINK.sub(r"\1", author) if columns.author else commit.get("author") or "",
                image=EntryImage(image, shas.get(image, "")) if image is not None else None,
                group=_group(fields, date, group),
            )
        )
    return rows


def _title_of(path: str) -> str:
    """Return the words of a file name without its date and ending. `index.md` has the name of its folder."""
    folder, _, name = path.rpartition("/")
    stem = folder.rpartition("/")[2] if _INDEX.match(name) else name.partition(".")[0]
    return label_of(_DATED_NAME.sub("", stem).strip("-_") or name)


def _flat(fields: Sequence[SchemaField]) -> Iterator[tuple[str, SchemaField]]:
    """Yield the fields by name, and those of objects with dotted names."""
    for field in fields:
        yield field.name, field
        for inner in field.fields if field.type is FieldType.OBJECT else ():
            yield f"{field.name}.{inner.name}", inner


def _has_type(field: SchemaField, types: Sequence[FieldType]) -> bool:
    return field.type in types or (field.type is FieldType.MIXED and any(kind in types for kind in field.types))


def _images(columns: Columns, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for one in entries:
        value = value_of(one["fields"], columns.image) if columns.image else None
        if isinstance(value, str) and value:
            yield one["path"], value


def _text(value: Any) -> str:
    """Return a value in one line. The items of a list are separated by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    if isinstance(value, Mapping):
        return _text(next((value[name] for name in TITLES if name in value), None))
    return " ".join(str(value).split()) if value is not None and not isinstance(value, bool) else ""


def _date(fields: Mapping[str, Any], columns: Columns, path: str) -> ListedDate | None:
    """Return the date of the field, else that of the file name."""
    value = value_of(fields, columns.date) if columns.date else None
    name = _DATED_NAME.match(path.rpartition("/")[2]) if columns.has_dated_names else None
    for text in (value if isinstance(value, str) else "", name[0] if name is not None else ""):
        kind = kind_of(text)
        moment = moment_of(text) if kind in (ValueKind.DATE, ValueKind.DATETIME) else None
        if moment is not None:
            return ListedDate(text, moment, kind is ValueKind.DATETIME)
    return None


def _state(fields: Mapping[str, Any], date: ListedDate | None, draft: DraftField | None) -> str:
    if is_draft(fields, draft):
        return "draft"
    if date is None:
        return ""
    moment = date.moment if date.moment.tzinfo is not None else date.moment.replace(tzinfo=UTC)
    return "scheduled" if moment > clock.now() else ""


def _group(fields: Mapping[str, Any], date: ListedDate | None, group: str) -> str | None:
    """Return the heading of an entry: the year of its date, or the value of a field."""
    if not group:
        return None
    if group == "year":
        return str(date.moment.year) if date is not None else _("Without a date")
    value = value_of(fields, group)
    if isinstance(value, list):
        value = value[0] if value else None
    return _text(value) or _("Without a value")
