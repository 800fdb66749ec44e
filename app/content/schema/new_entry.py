"""New entries of a collection: their path and text from the template and the defaults of the schema."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from app.content.data_text import edit_data, is_data
from app.content.draft_state import DRAFT_FIELDS
from app.content.filetypes import file_type
from app.content.front_matter.editor import edit_front_matter
from app.content.schema.date_formats import formatted
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField
from app.content.slugs import SlugForm, slug_of

PAGES = ("markdown", "mdx", "markdoc")
# The second alternative consumes the line after an open placeholder, so that it is searched only once.
_PLACEHOLDER = re.compile(r"\{\{(?:(.*?)\}\}|.*)")
_DATES = (FieldType.DATE, FieldType.DATETIME)
_TEXTS = (FieldType.STRING, FieldType.TEXT, FieldType.MIXED)


@dataclass(frozen=True)
class NewEntry:
    """A file that does not exist yet."""

    path: str
    text: str


def collections_for(schema: ContentSchema, folder: str) -> list[Collection]:
    """Return the collections of new entries in a folder: those with the longest folder first.

    If the folder belongs to none, these are the collections in the folders below it.
    """
    repeated = [one for one in schema.collections if not is_single(one)]
    around = [one for one in repeated if _has_entries_in(one, folder)]
    below = [one for one in repeated if not folder or one.folder.startswith(f"{folder}/")]
    return sorted(around, key=lambda one: -len(one.folder)) or below


def is_single(collection: Collection) -> bool:
    """Return whether the collection is one file."""
    return not re.search(r"[*{]", collection.pattern)


def folder_for(collection: Collection | None, folder: str) -> str:
    """Return the folder of a new entry: the folder itself, or that of a collection below it."""
    if collection is None or _has_entries_in(collection, folder):
        return folder
    return collection.folder


def _has_entries_in(collection: Collection, folder: str) -> bool:
    is_below = folder.startswith(f"{collection.folder}/") if collection.folder else True
    return collection.folder == folder or (is_below and "**" in collection.pattern)


def new_entry(
    collection: Collection | None,
    folder: str,
    *,
    title: str,
    now: datetime,
    name: str | None = None,
    is_draft: bool = True,
    dates: Mapping[str, str] = MappingProxyType({}),
) -> NewEntry:
    """Return the path and the text of a new entry.

    Args:
        collection: its template and fields. Without one, a page has a title, a date and a draft state.
        folder: the folder of the entry.
        title: the title, which may be empty.
        now: the present time in the time zone of the user.
        name: the file name, instead of that of the template.
        is_draft: the draft state, if entries of the collection have one.
        dates: the present time in the notation of other entries, by the name of the field.
    """
    template = collection.template if collection is not None else None
    values = dict(template.values) if template is not None else {}
    texts = {
        **{key: str(value) for key, value in values.items() if isinstance(value, str | int) and "{{" not in str(value)},
        "slug": slug_of(title, template.slug if template is not None else SlugForm.UNICODE) or "page",
        "title": title,
        "date": now.date().isoformat(),
        "year": now.strftime("%Y"),
        "month": now.strftime("%m"),
        "day": now.strftime("%d"),
        "hour": now.strftime("%H"),
        "minute": now.strftime("%M"),
        "second": now.strftime("%S"),
    }
    path = name or _expand(template.path if template is not None else "{{slug}}.md", texts).strip("/")
    if "." not in path.rpartition("/")[2]:
        path = f"{path}.md"
    fields = _DEFAULT if collection is None or not collection.fields else collection.fields
    expanded = {key: _expand(value, texts) if isinstance(value, str) else value for key, value in values.items()}
    filled = _filled(fields, expanded, title, now, dates)
    draft = collection.draft_field(filled) if collection is not None else DRAFT_FIELDS[0]
    if draft is not None and (draft.marks(filled) or (is_draft and draft.name not in filled)):
        filled[draft.name] = draft.draft if is_draft else draft.public
    body = _expand(template.body, texts) if template is not None else ""
    full = f"{folder}/{path}" if folder else path
    return NewEntry(full, _text(full, filled, body))


_DEFAULT = (
    SchemaField("title", FieldType.STRING),
    SchemaField("date", FieldType.DATE),
    SchemaField("draft", FieldType.BOOLEAN),
)


def _expand(text: str, texts: Mapping[str, str]) -> str:
    """Replace the placeholders of a text. An unknown one is replaced by the slug."""
    return _PLACEHOLDER.sub(lambda match: match[0] if match[1] is None else _value_of(match[1], texts), text)


def _value_of(expression: str, texts: Mapping[str, str]) -> str:
    name = expression.partition("|")[0].strip().removeprefix("fields.")
    return texts.get(name, texts["slug"])


def _filled(
    fields: tuple[SchemaField, ...], values: dict[str, object], title: str, now: datetime, dates: Mapping[str, str]
) -> dict[str, object]:
    """Return the values, the title first, with the date and the draft state of a new page."""
    fields_by_name = {field.name: field for field in fields}
    for name, field in fields_by_name.items():
        if values.get(name) in (None, ""):
            value = _initial(field, title, now, dates)
            if value is not None:
                values[name] = value
        elif field.type is FieldType.DATETIME and values[name] == now.date().isoformat():
            values[name] = dates.get(name) or _moment(now)
    order = [
        *(name for name in fields_by_name if name in values),
        *(name for name in values if name not in fields_by_name),
    ]
    return {name: values[name] for name in sorted(order, key=lambda name: name != "title")}


def _initial(field: SchemaField, title: str, now: datetime, dates: Mapping[str, str]) -> object:
    if field.name == "title" and field.type in _TEXTS:
        return title
    if field.name in ("date", "pubDate", "publishDate", "published") and field.type in _DATES:
        written = dates.get(field.name) if field.date_format is None else formatted(now, field.date_format)
        return written or (now.date().isoformat() if field.type is FieldType.DATE else _moment(now))
    return True if field.name == "draft" and field.type is FieldType.BOOLEAN else None


def _moment(now: datetime) -> str:
    return now.replace(microsecond=0).isoformat()


def _text(path: str, values: Mapping[str, object], body: str) -> str:
    if file_type(path).language in PAGES:
        return edit_front_matter(path, body.lstrip("\n").encode(), dict(values)).decode()
    return edit_data(path, b"", values).decode() if is_data(path) and values else body
