"""Reader of `frontmatter.json` of the extension Front Matter CMS."""

import re
from collections.abc import Iterator, Mapping

from app.content.schema.document import SchemaDocument
from app.content.schema.galley import MAX_OPTIONS
from app.content.schema.model import (
    MAX_COLLECTIONS,
    MAX_DEPTH,
    Collection,
    ContentSchema,
    FieldType,
    SchemaField,
    SourceKind,
    with_defaults,
)
from app.content.schema.validation import without_invalid_default

CONTENT_TYPES, PAGE_FOLDERS = "frontMatter.taxonomy.contentTypes", "frontMatter.content.pageFolders"
FIELD_GROUPS = "frontMatter.taxonomy.fieldGroups"
_WORKSPACE = "[[workspace]]"
_DYNAMIC = re.compile(r"[^/]*(?:\*|\{\{)")
"""The start of a path segment that contains a wildcard or a placeholder."""

_TYPES = {
    "number": FieldType.NUMBER,
    "datetime": FieldType.DATETIME,
    "boolean": FieldType.BOOLEAN,
    "image": FieldType.IMAGE,
    "choice": FieldType.SELECT,
    "tags": FieldType.LIST,
    "categories": FieldType.LIST,
    "taxonomy": FieldType.LIST,
    "list": FieldType.LIST,
    "block": FieldType.LIST,
    "draft": FieldType.BOOLEAN,
    "fields": FieldType.OBJECT,
    "fieldCollection": FieldType.OBJECT,
    "json": FieldType.OBJECT,
    "contentRelationship": FieldType.RELATION,
}
"""Fields of other types are texts: string, slug, file, dataFile, customField."""

_NO_VALUES = ("heading", "divider")
_DEFAULT_FIELDS = (
    SchemaField("title", FieldType.STRING, "Title"),
    SchemaField("description", FieldType.STRING, "Description"),
    SchemaField("date", FieldType.DATETIME, "Publishing date"),
    SchemaField("preview", FieldType.IMAGE, "Content preview"),
    SchemaField("draft", FieldType.BOOLEAN, "Is in draft"),
    SchemaField("tags", FieldType.LIST, "Tags", item=SchemaField("", FieldType.STRING)),
    SchemaField("categories", FieldType.LIST, "Categories", item=SchemaField("", FieldType.STRING)),
)
"""Fields of the content type `default` if the file does not define it."""


def read_front_matter_cms(path: str, data: bytes) -> ContentSchema | None:
    """Return the collections of the file, or None if it has none. A broken file has problems."""
    document = SchemaDocument(path, data)
    collections = tuple(_collections(document))
    if not collections and not document.problems:
        return None
    return ContentSchema(SourceKind.FRONT_MATTER, path, collections, tuple(document.problems))


def _collections(document: SchemaDocument) -> Iterator[Collection]:
    """Yield a collection for each page folder, with the fields of its first content type."""
    types = dict(_content_types(document))
    names: set[str] = set()
    pointer = f"/{PAGE_FOLDERS}"
    for inner, properties in document.mappings(_value(document, PAGE_FOLDERS), pointer, MAX_COLLECTIONS):
        location = document.text(properties, "path", inner) or document.text(properties, "paths", inner) or ""
        folder = document.folder(_DYNAMIC.split(location.replace(_WORKSPACE, ""))[0], f"{inner}/path")
        title = document.text(properties, "title", inner) or (folder or "").rpartition("/")[2] or "pages"
        if folder is None or title in names:
            document.report(inner, "A page folder needs a path, and a title that no other folder has")
            continue
        names.add(title)
        chosen = properties.get("contentTypes")
        listed = [name for name in chosen if isinstance(name, str)] if isinstance(chosen, list) else []
        used = next((types[name] for name in listed if name in types), types.get("default", (_DEFAULT_FIELDS, "md")))
        fields, extension = used
        yield with_defaults(Collection(title, folder, "**/*.{md,mdx,markdown}", fields, title), "{{slug}}." + extension)


def _content_types(document: SchemaDocument) -> Iterator[tuple[str, tuple[tuple[SchemaField, ...], str]]]:
    items = document.mappings(_value(document, CONTENT_TYPES), f"/{CONTENT_TYPES}", MAX_COLLECTIONS)
    for pointer, properties in items:
        name = document.text(properties, "name", pointer)
        extension = document.text(properties, "fileType", pointer) or "md"
        if not name:
            document.report(f"{pointer}/name", "A content type needs a name")
            continue
        yield name, (tuple(_fields(document, properties.get("fields"), f"{pointer}/fields")), extension)


def _value(document: SchemaDocument, name: str) -> object:
    """Return a setting that is written with a dotted name or as nested objects."""
    if name in document.values:
        return document.values[name]
    value: object = document.values
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _fields(document: SchemaDocument, value: object, pointer: str) -> Iterator[SchemaField]:
    if pointer.count("/fields") > MAX_DEPTH:
        document.report(pointer, "The fields are nested too deeply")
        return
    names: set[str] = set()
    for inner, properties in document.mappings(value, pointer, MAX_OPTIONS):
        if properties.get("type") in _NO_VALUES:
            continue
        name = document.text(properties, "name", inner)
        if not document.take_field(inner):
            return
        if not name or name in names:
            document.report(f"{inner}/name", "A field needs a name that no other field has")
            continue
        names.add(name)
        yield without_invalid_default(_field(document, inner, name, properties))


def _field(document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]) -> SchemaField:
    written = document.text(properties, "type", pointer) or "string"
    kind = _TYPES.get(written, FieldType.STRING)
    if written == "string" and properties.get("single") is False:
        kind = FieldType.TEXT
    if written == "contentRelationship" and properties.get("multiple") is not True:
        kind = FieldType.RELATION
    is_list = properties.get("multiple") is True and written in ("image", "file", "dataFile")
    options = _choices(properties) if kind is FieldType.SELECT else ()
    if kind is FieldType.SELECT and not options:
        kind = FieldType.STRING
    fields = tuple(_fields(document, _inner(document, properties), f"{pointer}/fields"))
    item = SchemaField("", kind) if is_list else _item(written, kind)
    default = properties.get("default")
    return SchemaField(
        name=name,
        type=FieldType.LIST if is_list else kind,
        label=document.text(properties, "title", pointer),
        required=properties.get("required") is True,
        default=None if isinstance(default, str) and "{{" in default else default,
        options=options,
        fields=fields if kind is FieldType.OBJECT else (),
        item=item,
        collection=document.text(properties, "contentTypeName", pointer) if kind is FieldType.RELATION else None,
        multiple=kind in (FieldType.SELECT, FieldType.RELATION) and properties.get("multiple") is True,
    )


def _item(written: str, kind: FieldType) -> SchemaField | None:
    if kind is not FieldType.LIST:
        return None
    return SchemaField("", FieldType.OBJECT if written == "block" else FieldType.STRING)


def _inner(document: SchemaDocument, properties: Mapping[str, object]) -> object:
    """Return the fields of an object, or of the field group that it names."""
    if properties.get("type") != "fieldCollection":
        return properties.get("fields")
    groups = _value(document, FIELD_GROUPS)
    group = (
        [g for g in groups if isinstance(g, Mapping) and g.get("id") == properties.get("fieldGroup")]
        if isinstance(groups, list)
        else []
    )
    return group[0].get("fields") if group else None


def _choices(properties: Mapping[str, object]) -> tuple[object, ...]:
    choices = properties.get("choices")
    listed = choices[:MAX_OPTIONS] if isinstance(choices, list) else []
    plain = [each.get("id") if isinstance(each, Mapping) else each for each in listed]
    return tuple(value for value in plain if value is not None and not isinstance(value, dict | list))
