"""Options of a relation: the value that it stores for an entry of its collection, or for each item of a list in a file.

`value_field` of a schema is the name of a field (`author.name`), the items of a list (`cities.*.id`), or a text with
placeholders (`{{slug}}`, `{fields.id}`). Without it, a relation stores the slug.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.content.field_values import SEPARATOR, value_of
from app.content.schema.model import Collection

TITLES = ("title", "Title", "name", "label", "heading", "headline")
MAX_ITEMS = 1_000
MAX_TITLE = 200
_PLACEHOLDER = re.compile(r"\{\{?([^{}]{1,200})\}?\}")
_WILDCARD = "*"
_OF_ENTRY = ("slug", "path", "primary", "filename")
"""Placeholders that name no field."""

_INDEX_NAMES = ("index", "_index")


@dataclass(frozen=True)
class RelationOption:
    """A value that a relation stores, and the title that the user sees."""

    value: str | int | float | bool
    title: str
    path: str


@dataclass(frozen=True)
class TargetEntry:
    """An entry to which a relation leads. `slug` is its path in the collection without ending and language."""

    path: str
    slug: str
    title: str
    values: Mapping[str, object]


def slug_of(collection: Collection, path: str) -> str:
    """Return the path of an entry below the folder of its collection, without ending, language and `index`."""
    below = path[len(collection.folder) :].lstrip("/")
    stem = below.rpartition(".")[0] or below
    locale, _, inner = stem.partition("/")
    if inner and locale in collection.locales:
        stem = inner
    bare, _, mark = stem.rpartition(".")
    if bare and mark in collection.locales:
        stem = bare
    folder, _, name = stem.rpartition("/")
    return folder if name in _INDEX_NAMES else stem


def title_of(values: Mapping[str, object]) -> str:
    """Return the title of an entry or of an item of a list, or an empty text."""
    texts = (values[name] for name in TITLES if isinstance(values.get(name), str | int | float))
    return next((str(text)[:MAX_TITLE] for text in texts if str(text).strip()), "")


def options_of(entry: TargetEntry, value_field: str | None) -> Iterator[RelationOption]:
    """Yield the option of an entry, or those of the items that a wildcard names. An entry without a value has none."""
    name = (value_field or "{{slug}}").strip()
    only = _PLACEHOLDER.fullmatch(name)
    if _WILDCARD in name:
        parts = (only[1].strip() if only else name).removeprefix("fields.").split(SEPARATOR)
        for value, owner in _items(entry.values, parts, entry.values):
            yield from _option(value, title_of(owner), entry.path)
    elif only:
        yield from _option(_of_placeholder(entry, only[1]), entry.title, entry.path)
    elif "{" in name:
        text = _PLACEHOLDER.sub(lambda match: _text_of(_of_placeholder(entry, match[1])), name)
        yield from _option(text.strip(), entry.title, entry.path)
    else:
        value = value_of(entry.values, name)
        yield from _option(_of_entry(entry, name) if value is None else value, entry.title, entry.path)


def _option(value: object, title: str, path: str) -> Iterator[RelationOption]:
    if isinstance(value, str | int | float) and value != "":
        yield RelationOption(value, title or str(value), path)


def _of_placeholder(entry: TargetEntry, text: str) -> object:
    """Return the value of a placeholder. `fields.` names a field whose name is also that of a property."""
    name = text.strip()
    if name in _OF_ENTRY:
        return _of_entry(entry, name)
    value = value_of(entry.values, name.removeprefix("fields."))
    return _of_entry(entry, name) if value is None else value


def _of_entry(entry: TargetEntry, name: str) -> str | None:
    stem = entry.path.rpartition("/")[2].rpartition(".")[0]
    known = {"slug": entry.slug, "path": entry.path, "title": entry.title, "primary": entry.title}
    return {**known, "filename": stem, "name": stem}.get(name)


def _text_of(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


def _items(
    value: object, parts: Sequence[str], owner: Mapping[str, object]
) -> Iterator[tuple[object, Mapping[str, object]]]:
    """Yield the values of a dotted name with wildcards, each with the item of the list that contains it."""
    if not parts:
        yield value, owner
    elif parts[0] != _WILDCARD:
        if isinstance(value, Mapping):
            yield from _items(value.get(parts[0]), parts[1:], owner)
    elif isinstance(value, list):
        for item in value[:MAX_ITEMS]:
            yield from _items(item, parts[1:], item if isinstance(item, Mapping) else {})
