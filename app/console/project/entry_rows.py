"""Rows of a list of entries: title, summary, date, state, author and image from the fields of the collection."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.access.scope import ProjectScope
from app.console.shell.field_labels import label_of
from app.console.shell.translation import gettext as _
from app.content.draft_state import DraftField, is_draft
from app.content.field_values import ValueKind, kind_of, moment_of, value_of
from app.content.schema.columns import Columns
from app.content.schema.date_formats import has_time, parsed
from app.content.schema.relations import TITLES
from app.core import clock
from app.resources.project_content.images import find_images, has_thumbnail
from app.resources.project_content.tree.folder_listing import blob_shas, logged_changes, titles_of

MAX_SUMMARY = 300
_DATED_NAME = re.compile(r"\d{4}-\d\d-\d\d(?=-)")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^)\s\[]*\)")
_INDEX = re.compile(r"_?index\.")


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


def labels_of(columns: Columns) -> dict[str, str]:
    """Return the labels of the fields, as the form of an entry shows them."""
    return {name: label or label_of(name.rpartition(".")[2]) for name, label in columns.labels.items()}


def headings_of(columns: Columns, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the headings of the columns."""
    usual = {"image": _("Image"), "title": _("Title"), "date": _("Date"), "author": _("Author")}
    names = {"image": columns.image, "title": columns.title, "date": columns.date, "author": columns.author}
    return {column: labels.get(names[column] or "", text) for column, text in usual.items()}


def rows_of(
    scope: ProjectScope, columns: Columns, entries: Sequence[Mapping[str, Any]], *, group: str
) -> list[ListedEntry]:
    """Return the rows of a page of entries. Titles, images and last changes are read with few statements."""
    paths = [entry["path"] for entry in entries]
    titles = titles_of(scope.project, scope.index, paths)
    unknown = [entry["path"] for entry in entries if entry["last_commit"] is None]
    changes = logged_changes(scope.project.id, unknown) if unknown and columns.author is None else {}
    sources = dict(_images(columns, entries))
    images = find_images(scope.index, ((source, path) for path, source in sources.items()))
    shas = blob_shas(scope.index, set(filter(has_thumbnail, images.values())))
    rows = []
    for item in entries:
        path, fields = item["path"], item["fields"]
        date = _date(fields, columns, path)
        author = _text(value_of(fields, columns.author))[:MAX_SUMMARY] if columns.author else ""
        commit = item["last_commit"] or changes.get(path) or {}
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


def _images(columns: Columns, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        value = value_of(entry["fields"], columns.image) if columns.image else None
        if isinstance(value, str) and value:
            yield entry["path"], value


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
    if columns.date_format is not None and isinstance(value, str | int):
        moment = parsed(str(value), columns.date_format)
        if moment is not None:
            return ListedDate(str(value), moment, has_time(columns.date_format))
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
