"""New entries of a collection: their path and text from the template and the defaults of the schema."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from app.content.data_text import edit_data, is_data
from app.content.draft_state import DRAFT_FIELDS
from app.content.filetypes import file_type
from app.content.front_matter.editor import edit_front_matter
from app.content.schema.date_formats import formatted
from app.content.schema.model import Collection, ContentSchema, EntryTemplate, FieldType, SchemaField
from app.content.schema.placeholders import expand
from app.content.slugs import slug_of

PAGES = ("markdown", "mdx", "markdoc")
_DATES = (FieldType.DATE, FieldType.DATETIME)
_MOMENT = {
    "date": "%Y-%m-%d",
    "year": "%Y",
    "month": "%m",
    "day": "%d",
    "hour": "%H",
    "minute": "%M",
    "second": "%S",
}
"""The placeholders of the present time."""
_TEXTS = (FieldType.STRING, FieldType.TEXT, FieldType.MIXED)


@dataclass(frozen=True)
class NewEntry:
    """A file that does not exist yet. `address` is the part of its path that the title or the user names."""

    path: str
    text: str
    address: str = ""


def collections_for(schema: ContentSchema, folder: str) -> list[Collection]:
    """Return the collections of new entries in a folder: those with the longest folder first.

    If the folder belongs to none, these are the collections in the folders below it.
    """
    repeated = [collection for collection in schema.collections if not is_single(collection) and collection.can_create]
    around = [collection for collection in repeated if _has_entries_in(collection, folder)]
    below = [collection for collection in repeated if not folder or collection.folder.startswith(f"{folder}/")]
    return sorted(around, key=lambda collection: -len(collection.folder)) or below


def can_create_in(schema: ContentSchema, folder: str) -> bool:
    """Return whether a folder accepts new entries: a collection with the longest folder around it permits them."""
    around = [item for item in schema.collections if not is_single(item) and _has_entries_in(item, folder)]
    innermost = max(around, key=lambda collection: (len(collection.folder), collection.can_create), default=None)
    return innermost is None or innermost.can_create


@dataclass(frozen=True)
class CollectionChoices:
    """The collections that a new entry may have, and whether it may have none."""

    collections: Sequence[Collection]
    can_have_none: bool

    def chosen(self, name: str | None) -> Collection | None:
        """Return the collection of a name, else the first one, if the entry needs one."""
        match = next((choice for choice in self.collections if choice.name == name), None)
        if match is not None or self.can_have_none or not self.collections:
            return match
        return self.collections[0]


def choices_for(schema: ContentSchema, folder: str, name: str | None) -> CollectionChoices:
    """Return the choices for a new entry in a folder: the collection of a name, else those of the folder."""
    named = [collection for collection in schema.collections if collection.name == name and collection.can_create]
    named = [collection for collection in named if not folder or folder_for(collection, folder) == folder]
    if named:
        return CollectionChoices(named, can_have_none=False)
    choices = collections_for(schema, folder)
    return CollectionChoices(choices, not any(folder_for(choice, folder) == folder for choice in choices))


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
    generator: str | None = None,
) -> NewEntry:
    """Return the path and the text of a new entry.

    Args:
        collection: its template and fields. Without one, a page has a title, a date and a draft state.
        folder: the folder of the entry.
        title: the title, which may be empty.
        now: the present time in the time zone of the user.
        name: the address, instead of that from the title. With an ending or a folder it is a path below the folder.
        is_draft: the draft state, if entries of the collection have one.
        dates: the present time in the notation of other entries, by the name of the field.
        generator: the generator of the site, which decides how the slug writes apostrophes.
    """
    template = (collection.template if collection is not None else None) or EntryTemplate("{{slug}}.md")
    values = template.values
    file, address = _file_of(name), slug_of(name or title, template.slug, generator=generator) or "page"
    texts = {
        **{key: str(value) for key, value in values.items() if isinstance(value, str | int) and "{{" not in str(value)},
        "slug": address,
        "title": title,
        **{part: now.strftime(form) for part, form in _MOMENT.items()},
    }
    is_below = collection is not None and folder != collection.folder
    named = texts | ({"title": address} if name else {})
    path = file or expand(_own_part(template.path) if is_below else template.path, named, now).strip("/")
    if name and address not in path:
        path = file or address  # A template of dates does not contain the address.
    if "." not in path.rpartition("/")[2]:
        path = f"{path}.md"
    fields = _DEFAULT if collection is None or not collection.fields else collection.fields
    expanded = {key: expand(value, texts, now) if isinstance(value, str) else value for key, value in values.items()}
    filled = _filled(fields, expanded, title, now, dates)
    draft = collection.draft_field(filled) if collection is not None else DRAFT_FIELDS[0]
    if draft is not None and (draft.marks(filled) or (is_draft and draft.name not in filled)):
        filled[draft.name] = draft.draft if is_draft else draft.public
    full = f"{folder}/{path}" if folder else path
    return NewEntry(full, _text(full, filled, expand(template.body, texts, now)), address)


def _file_of(name: str | None) -> str:
    """Return a name that is the path of a file: it has a known ending or is in a folder."""
    is_file = name is not None and ("/" in name or ("." in name and file_type(name).language is not None))
    return name if name is not None and is_file else ""


def _own_part(template: str) -> str:
    """Return the part of a template that names the entry, without the folders around it."""
    segments = template.split("/")
    first = next((number for number, segment in enumerate(segments) if "{{slug" in segment or "{{title" in segment), 0)
    return "/".join(segments[first:])


_DEFAULT = (
    SchemaField("title", FieldType.STRING),
    SchemaField("date", FieldType.DATE),
    SchemaField("draft", FieldType.BOOLEAN),
)


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
