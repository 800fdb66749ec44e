"""Reader of `.pages.yml` of Pages CMS."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.content.schema.document import SchemaDocument
from app.content.schema.galley import MAX_OPTIONS
from app.content.schema.model import (
    MAX_COLLECTIONS,
    Collection,
    ContentSchema,
    FieldType,
    SchemaField,
    SourceKind,
    with_defaults,
)
from app.content.schema.validation import without_invalid_default

_TYPES = {
    "text": FieldType.TEXT,
    "rich-text": FieldType.TEXT,
    "code": FieldType.TEXT,
    "number": FieldType.NUMBER,
    "boolean": FieldType.BOOLEAN,
    "date": FieldType.DATE,
    "image": FieldType.IMAGE,
    "object": FieldType.OBJECT,
    "block": FieldType.OBJECT,
    "select": FieldType.SELECT,
    "reference": FieldType.RELATION,
}
"""Fields of other types are texts: string, uuid, file."""

_DATA = ("json", "yml", "yaml", "toml", "csv")
_PLACEHOLDER = re.compile(r"\{([a-z.]+)\}")
_DEFAULT_FILE = "{year}-{month}-{day}-{primary}.md"
_BODY = "body"
MAX_COMPONENTS = 4


def read_pages_cms(path: str, data: bytes) -> ContentSchema | None:
    """Return the collections of the file, or None if it has none. A broken file has problems."""
    document = SchemaDocument(path, data)
    collections = tuple(_collections(document, document.values.get("content"), "/content"))[:MAX_COLLECTIONS]
    if not collections and not document.problems:
        return None
    return ContentSchema(SourceKind.PAGES_CMS, path, collections, tuple(document.problems))


def _collections(document: SchemaDocument, value: object, pointer: str, depth: int = 0) -> Iterator[Collection]:
    for inner, properties in document.mappings(value, pointer, MAX_COLLECTIONS):
        if properties.get("type") == "group" and depth < 3:
            yield from _collections(document, properties.get("items"), f"{inner}/items", depth + 1)
            continue
        name = document.text(properties, "name", inner)
        location = document.folder_of(properties, "path", inner)
        if not name:
            document.report(f"{inner}/name", "An entry of the content needs a name")
        elif location is not None:
            yield _collection(document, inner, properties, name, location)


def _collection(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], name: str, location: str
) -> Collection:
    label = document.text(properties, "label", pointer)
    folder, _, base = location.rpartition("/")
    kind = document.text(properties, "type", pointer)
    if kind == "file" or (kind != "collection" and "." in base):
        fields = _top_fields(document, pointer, properties, base.rpartition(".")[2])
        return with_defaults(Collection(name, folder, base, fields, label), base)
    file_name = _PLACEHOLDER.sub(_placeholder, _file_name(document, pointer, properties) or _DEFAULT_FILE)
    ending = file_name.rpartition(".")[2] if "." in file_name else "md"
    extension = document.text(properties, "extension", pointer) or ending
    extension = extension.lstrip(".").replace("*", "").replace("/", "")
    fields = _top_fields(document, pointer, properties, extension)
    file_name = file_name if "." in file_name else f"{file_name}.{extension}"
    start = "" if properties.get("subfolders") is False else "**/"
    return with_defaults(Collection(name, location, f"{start}*.{extension}", fields, label), file_name)


def _file_name(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> str | None:
    """Return the file name of a new entry: a text, or the template of a mapping."""
    settings = properties.get("filename")
    if isinstance(settings, Mapping):
        return document.text(settings, "template", f"{pointer}/filename")
    return document.text(properties, "filename", pointer)


def _placeholder(match: re.Match[str]) -> str:
    name = match[1].removeprefix("fields.")
    return "{{slug}}" if name in ("primary", "title") else "{{" + name + "}}"


def _top_fields(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], extension: str
) -> tuple[SchemaField, ...]:
    """Return the fields of an entry. The field `body` of a page is the text below the front matter."""
    fields = _fields(document, properties.get("fields"), f"{pointer}/fields")
    return tuple(inner for inner in fields if inner.name != _BODY or extension in _DATA)


def _fields(document: SchemaDocument, value: object, pointer: str) -> Iterator[SchemaField]:
    for inner, name, properties in document.fields(value, pointer):
        yield without_invalid_default(_field(document, inner, name, _with_component(document, properties)))


def _with_component(document: SchemaDocument, properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return the properties of a field on top of those of its component."""
    components = document.values.get("components")
    for _ in range(MAX_COMPONENTS):
        name = properties.get("component")
        component = components.get(name) if isinstance(components, Mapping) and isinstance(name, str) else None
        if not isinstance(component, Mapping):
            break
        own = {key: value for key, value in properties.items() if key != "component"}
        properties = {**component, **own}
    return properties


def _field(document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]) -> SchemaField:
    options = document.mapping(properties.get("options"), f"{pointer}/options")
    written = document.text(properties, "type", pointer) or "string"
    kind = _TYPES.get(written, FieldType.STRING)
    if written == "list" and "fields" in properties:
        kind = FieldType.OBJECT
    if kind is FieldType.DATE and options.get("time") is True:
        kind = FieldType.DATETIME
    choices = _choices(options) if kind is FieldType.SELECT else ()
    if kind is FieldType.SELECT and not choices:
        kind = FieldType.STRING
    own = SchemaField(
        name=name,
        type=kind,
        label=document.text(properties, "label", pointer) if isinstance(properties.get("label"), str) else None,
        required=properties.get("required") is True,
        default=properties.get("default"),
        options=choices,
        fields=tuple(_fields(document, properties.get("fields"), f"{pointer}/fields"))
        if kind is FieldType.OBJECT and written != "block"
        else (),
        collection=document.text(options, "collection", f"{pointer}/options") if kind is FieldType.RELATION else None,
        multiple=kind in (FieldType.SELECT, FieldType.RELATION) and bool(options.get("multiple")),
    )
    is_several = kind is FieldType.IMAGE and bool(options.get("multiple"))
    is_list = written == "list" or properties.get("list") not in (None, False) or is_several
    if not is_list:
        return own
    item = replace(own, name="", label=None, required=False, default=None)
    return SchemaField(name, FieldType.LIST, own.label, own.required, own.default, item=item)


def _choices(options: Mapping[str, object]) -> tuple[object, ...]:
    values = options.get("values")
    listed = values[:MAX_OPTIONS] if isinstance(values, list) else []
    plain = [each.get("value", each.get("name")) if isinstance(each, Mapping) else each for each in listed]
    return tuple(value for value in plain if value is not None and not isinstance(value, dict | list))
