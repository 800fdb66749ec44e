"""Options of a relation: the value that it stores for an entry of its collection, or for each item of a list in a file.

`value_field` of a schema is the name of a field (`author.name`), the items of a list (`cities.*.id`), or a text with
placeholders (`{{slug}}`, `{fields.id}`). Without it, a relation stores the slug. `title_field` has the same form.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.content.field_values import SEPARATOR, value_of
from app.content.schema.model import Collection, FieldType, SchemaField

TITLES = ("title", "Title", "name", "label", "heading", "headline")
MAX_ITEMS = 1_000
MAX_TITLE = 200
MAX_SEARCHED = 200
"""The items of a list of objects whose relations are found."""

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


def options_of(entry: TargetEntry, value_field: str | None, title_field: str | None = None) -> Iterator[RelationOption]:
    """Yield the option of an entry, or those of the items that a wildcard names. An entry without a value has none."""
    name = (value_field or "{{slug}}").strip()
    only = _PLACEHOLDER.fullmatch(name)
    if _WILDCARD in name:
        parts = (only[1].strip() if only else name).removeprefix("fields.").split(SEPARATOR)
        for value, owner in _items(entry.values, parts, entry.values):
            yield from _option(value, _title(entry, title_field, owner, value) or title_of(owner), entry.path)
        return
    title = _title(entry, title_field, {}, "") or entry.title
    if only:
        yield from _option(_of_placeholder(entry, only[1]), title, entry.path)
    elif "{" in name:
        text = _PLACEHOLDER.sub(lambda match: _text_of(_of_placeholder(entry, match[1])), name)
        yield from _option(text.strip(), title, entry.path)
    else:
        value = value_of(entry.values, name)
        yield from _option(_of_entry(entry, name) if value is None else value, title, entry.path)


def placeholders_of(title_field: str | None) -> set[str]:
    """Return the fields of entries that a declared title contains."""
    if not title_field or "{" not in title_field:
        return {title_field} if title_field else set()
    names = (match[1].strip().removeprefix("fields.") for match in _PLACEHOLDER.finditer(title_field))
    return {name for name in names if name not in _OF_ENTRY and _WILDCARD not in name}


def _title(entry: TargetEntry, title_field: str | None, item: Mapping[str, object], value: object) -> str:
    """Return the declared title of an entry, or of an item of a list with its value. It may be empty."""

    def text_of(match: re.Match[str]) -> str:
        name = match[1].strip()
        if _WILDCARD not in name:
            return _text_of(_of_placeholder(entry, name))
        inner = name.rpartition(_WILDCARD)[2].strip(SEPARATOR)
        return _text_of(value_of(item, inner) if inner else value)

    declared = title_field or ""
    template = declared if "{" in declared or not declared else f"{{{declared}}}"
    return " ".join(_PLACEHOLDER.sub(text_of, template).split())[:MAX_TITLE]


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


def relation_of(field: SchemaField) -> SchemaField | None:
    """Return the relation of a field: the field itself, or the items of a list."""
    if field.type is FieldType.LIST and field.item is not None:
        field = field.item
    return field if field.type is FieldType.RELATION and field.collection else None


def relations_in(listed: Sequence[SchemaField], values: object) -> Iterator[tuple[SchemaField, object]]:
    """Yield the relations of fields, also inside of objects, variants and lists, with their values."""
    mapping = values if isinstance(values, Mapping) else {}
    for owner_field in listed:
        value = mapping.get(owner_field.name)
        relation = relation_of(owner_field)
        if relation is not None:
            yield relation, value
        owner = owner_field.item if owner_field.type is FieldType.LIST and owner_field.item is not None else owner_field
        inner = [*owner.fields, *(entry for variant in owner.variants for entry in variant.fields)]
        if inner:
            items = value if isinstance(value, list) else [value]
            for item in items[:MAX_SEARCHED] or [None]:
                yield from relations_in(inner, item)


def scalars_of(value: object) -> list[object]:
    """Return the texts and numbers of a value or of a list, each once."""
    values = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(single for single in values if isinstance(single, str | int | float) and single != ""))
