"""Values that an entry has in all languages: fields with `i18n: duplicate` of Decap CMS and Sveltia CMS."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.content.data_text import edit_data, is_data, read_data
from app.content.front_matter.editor import UnsupportedEdit, edit_front_matter
from app.content.front_matter.edits import values_equal
from app.content.page_text import read_page
from app.content.schema.model import Collection, ContentSchema, SchemaField
from app.content.schema.new_entry import is_single
from app.content.schema.validation import collection_of


@dataclass(frozen=True)
class SharedValues:
    """The fields of an entry in the default language that have one value in all languages.

    `paths` are those that the entry can have in other languages.
    """

    fields: Sequence[SchemaField]
    values: Mapping[str, object]
    paths: Sequence[str]

    def written(self, path: str, data: bytes) -> bytes:
        """Return the entry in another language with these values. Other bytes do not change.

        It stays as it is if it cannot be edited as values.
        """
        present = _values(path, data)
        if present is None:
            return data
        values = _shared(self.fields, self.values, present)
        unset = [name for name in present if name not in values]
        changes = {name: value for name, value in values.items() if not values_equal(value, present.get(name))}
        try:
            return (edit_data if is_data(path) else edit_front_matter)(path, data, changes, unset)
        except UnsupportedEdit:
            return data


def shared_values(schema: ContentSchema, path: str, data: bytes) -> SharedValues | None:
    """Return the shared values of an entry in the default language. None: it has none, or is a translation."""
    values = _values(path, data)
    collection = collection_of(schema, path, values) if values is not None else None
    if values is None or collection is None or not _has_shared(collection.fields):
        return None
    paths = tuple(dict.fromkeys(_other_paths(schema, collection, path)))
    return SharedValues(collection.fields, values, paths) if paths else None


def has_shared_values(schema: ContentSchema) -> bool:
    """Return whether a collection has a field with one value in all languages."""
    return any(_has_shared(collection.fields) for collection in schema.collections)


def _has_shared(fields: Sequence[SchemaField]) -> bool:
    return any(field.shared or _has_shared(field.fields) for field in fields)


def _values(path: str, data: bytes) -> Mapping[str, object] | None:
    if is_data(path):
        return read_data(path, data)
    page = read_page(path, data)
    return None if page is None or page.problem is not None else page.values


def _shared(
    fields: Sequence[SchemaField], original: Mapping[str, object], other: Mapping[str, object]
) -> dict[str, object]:
    """Return the values of another language with the shared ones of the original, also in objects."""
    values = dict(other)
    for field in fields:
        own, present = original.get(field.name), other.get(field.name)
        if field.shared and field.name in original:
            values[field.name] = own
        elif field.shared:
            values.pop(field.name, None)
        elif isinstance(own, Mapping) and isinstance(present, Mapping):
            values[field.name] = _shared(field.fields, own, present)
    return values


def _other_paths(schema: ContentSchema, collection: Collection, path: str) -> Iterator[str]:
    for other in schema.collections:
        if other.original == collection.name:
            name = other.pattern if is_single(other) else path[len(collection.folder) :].lstrip("/")
            yield f"{other.folder}/{name}".lstrip("/")
    main, *locales = collection.locales or ("",)
    name = path.removeprefix(collection.folder).lstrip("/")
    start = path.removesuffix(name)
    stem, _dot, ending = name.rpartition(".")
    if name.partition("/")[0] in locales or stem.rpartition(".")[2] in locales:
        return
    for locale in locales:
        yield f"{start}{locale}/{name.removeprefix(f'{main}/')}"
        yield f"{start}{stem.removesuffix(f'.{main}')}.{locale}.{ending}"
