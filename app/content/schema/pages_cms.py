"""Reader of `.pages.yml` of Pages CMS."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.content.data_text import ROOT
from app.content.schema.date_formats import is_format
from app.content.schema.document import BODY, MAX_HINT, SchemaDocument
from app.content.schema.galley import MAX_OPTIONS
from app.content.schema.model import (
    MAX_COLLECTIONS,
    Collection,
    ContentSchema,
    FieldType,
    SchemaField,
    SourceKind,
    text_start,
    with_defaults,
)
from app.content.schema.validation import without_invalid_default

_TYPES = {
    "string": FieldType.STRING,
    "uuid": FieldType.STRING,
    "file": FieldType.STRING,
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
    "list": FieldType.STRING,
}
_SEVERAL = ("image", "file", "select")
_LIST_FILES = (".json", ".yml", ".yaml")
_DATA = ("json", "yml", "yaml", "toml", "csv")
_PLACEHOLDER = re.compile(r"\{([a-z.]+)\}")
_DEFAULT_FILE = "{year}-{month}-{day}-{primary}.md"
_BLOCK_KEY = "_block"
MAX_COMPONENTS, MAX_MEDIA = 4, 50


def read_pages_cms(path: str, data: bytes) -> ContentSchema | None:
    """Return the collections of the file, or None if it has none. A broken file has problems."""
    document = SchemaDocument(path, data)
    collections = document.read_collections(
        _collections(document, document.values.get("content"), "/content"), "/content"
    )
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
        elif properties.get("list") not in (None, False) and not (location or "").endswith(_LIST_FILES):
            document.report(f"{inner}/list", "Only a file in JSON or YAML can contain a list")
        elif location is not None:
            yield _collection(document, inner, properties, name, location)


def _collection(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], name: str, location: str
) -> Collection:
    label = document.text(properties, "label", pointer)
    media_folder, public_folder = _media_folders(document, pointer, properties.get("media"))
    folder, _, base = location.rpartition("/")
    kind, has_body = document.text(properties, "type", pointer), document.has_body(properties.get("fields"))
    requires_body = (document.body(properties.get("fields")) or {}).get("required") is True
    if kind == "file" or (kind != "collection" and "." in base):
        fields = _top_fields(document, pointer, properties, base.rpartition(".")[2])
        if properties.get("list") not in (None, False):
            entry = SchemaField(ROOT, FieldType.OBJECT, label, fields=fields)
            fields = (_list_of(document, pointer, properties["list"], entry),)
        single = Collection(name, folder, base, fields, label, media_folder=media_folder, public_folder=public_folder)
        return with_defaults(replace(single, has_body=has_body, requires_body=requires_body), base)
    file_name = _PLACEHOLDER.sub(_placeholder, _file_name(document, pointer, properties) or _DEFAULT_FILE)
    ending = file_name.rpartition(".")[2] if "." in file_name else "md"
    extension = document.text(properties, "extension", pointer) or ending
    extension = extension.lstrip(".").replace("*", "").replace("/", "")
    fields = _top_fields(document, pointer, properties, extension)
    file_name = file_name if "." in file_name else f"{file_name}.{extension}"
    start = "" if properties.get("subfolders") is False else "**/"
    collection = Collection(
        name,
        location,
        f"{start}*.{extension}",
        fields,
        label,
        exclude=_excluded(document, pointer, properties),
        media_folder=media_folder,
        public_folder=public_folder,
        has_body=has_body,
        requires_body=requires_body,
    )
    return with_defaults(collection, file_name, text_start(document.text(properties, "format", pointer)))


def _excluded(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of files that are no entries."""
    listed = properties.get("exclude")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    if listed is not None and (not isinstance(listed, list) or len(names) < len(listed)):
        document.report(f"{pointer}/exclude", "This must be a list of names of files")
    return tuple(names[:MAX_OPTIONS])


def _media_folders(document: SchemaDocument, pointer: str, name: object) -> tuple[str | None, str | None]:
    """Return the folder of images and its address. `name` selects one of several settings."""
    media = document.values.get("media")
    listed = (
        [entry for entry in media[:MAX_MEDIA] if isinstance(entry, Mapping)] if isinstance(media, list) else [media]
    )
    chosen = listed[0] if listed else None
    if isinstance(name, str):
        chosen = next((entry for entry in listed if isinstance(entry, Mapping) and entry.get("name") == name), None)
        if chosen is None:
            document.report(f"{pointer}/media", f"There are no media “{name[:100]}”")
    if name is False or chosen is None:
        return None, None
    if isinstance(chosen, str):
        chosen = {"input": chosen, "output": f"/{chosen.strip('/')}"}
    settings = document.mapping(chosen, "/media")
    folder = document.text(settings, "input", "/media")
    return (folder and folder.strip("/")) or None, document.text(settings, "output", "/media")


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
    return tuple(inner for inner in fields if inner.name != BODY or extension in _DATA)


def _fields(document: SchemaDocument, value: object, pointer: str) -> Iterator[SchemaField]:
    for inner, name, properties in document.fields(value, pointer):
        yield without_invalid_default(_field(document, inner, name, _with_component(document, inner, properties)))


def _with_component(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return the properties of a field on top of those of its component."""
    components = document.values.get("components")
    for _ in range(MAX_COMPONENTS):
        name = properties.get("component")
        component = components.get(name) if isinstance(components, Mapping) and isinstance(name, str) else None
        if not isinstance(component, Mapping):
            if name is not None:
                document.report(f"{pointer}/component", f"There is no component “{str(name)[:100]}”")
            break
        own = {key: value for key, value in properties.items() if key != "component"}
        properties = {**component, **own}
    return properties


def _field(document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]) -> SchemaField:
    options = document.mapping(properties.get("options"), f"{pointer}/options")
    written = document.text(properties, "type", pointer) or "string"
    kind = _type_of(document, pointer, properties, written)
    if kind is FieldType.DATE and options.get("time") is True:
        kind = FieldType.DATETIME
    choices = _choices(options) if kind is FieldType.SELECT else ()
    if kind is FieldType.SELECT and not choices:
        kind = FieldType.STRING
    has_choices = kind in (FieldType.SELECT, FieldType.RELATION)
    minimum, maximum = _limits(document, f"{pointer}/options", options, kind)
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
        multiple=has_choices and bool(options.get("multiple")),
        hint=document.text(properties, "description", pointer, limit=MAX_HINT),
        minimum=minimum,
        maximum=maximum,
    )
    if kind is FieldType.RELATION:
        own = _with_relation(document, f"{pointer}/options", options, own)
    if written == "block":
        own = _with_variants(document, pointer, properties, own)
    if kind in (FieldType.DATE, FieldType.DATETIME):
        own = _with_format(document, pointer, options, own)
    if "pattern" in properties:
        own = _with_pattern(document, pointer, properties["pattern"], own)
    if written in ("image", "file"):
        folder, address = _media_folders(document, f"{pointer}/options", options.get("media", False))
        folder = document.text(options, "path", f"{pointer}/options") or folder
        own = replace(own, media_folder=folder, public_folder=address)
    several = options.get("multiple") if written in _SEVERAL and not own.multiple else None
    listed = properties.get("list") or several or written == "list"
    return _list_of(document, pointer, listed, own) if listed else own


def _type_of(document: SchemaDocument, pointer: str, properties: Mapping[str, object], written: str) -> FieldType:
    if written == "list" and "fields" in properties:
        return FieldType.OBJECT
    kind = _TYPES.get(written)
    if kind is None:
        document.report(f"{pointer}/type", f"The type “{written}” is not known. Its values are not compared")
    return kind or FieldType.MIXED


def _list_of(document: SchemaDocument, pointer: str, settings: object, field: SchemaField) -> SchemaField:
    """Return the list of a field. `settings` may limit the number of its items."""
    limits = settings if isinstance(settings, Mapping) else {}
    item = replace(field, name="", label=None, required=False, default=None, hint=None)
    return SchemaField(
        field.name,
        FieldType.LIST,
        field.label,
        field.required,
        field.default,
        item=item,
        hint=field.hint,
        minimum=document.number(limits, "min", f"{pointer}/list"),
        maximum=document.number(limits, "max", f"{pointer}/list"),
    )


def _limits(
    document: SchemaDocument, pointer: str, options: Mapping[str, object], kind: FieldType
) -> tuple[float | None, float | None]:
    """Return the limits of a number, of choices, or of the characters of a text. Those of dates are problems."""
    if kind in (FieldType.STRING, FieldType.TEXT):
        return document.number(options, "minlength", pointer), document.number(options, "maxlength", pointer)
    if kind in (FieldType.DATE, FieldType.DATETIME):
        for name in ("min", "max"):
            if options.get(name) is not None:
                document.report(f"{pointer}/{name}", "Limits of dates are not compared")
        return None, None
    several = options.get("multiple")
    limits = several if isinstance(several, Mapping) else options
    if kind in (FieldType.NUMBER, FieldType.SELECT, FieldType.RELATION):
        return document.number(limits, "min", pointer), document.number(limits, "max", pointer)
    return None, None


def _with_variants(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], field: SchemaField
) -> SchemaField:
    variants = []
    for inner, name, own in document.fields(properties.get("blocks"), f"{pointer}/blocks"):
        block = _with_component(document, inner, own)
        label = document.text(block, "label", inner) if isinstance(block.get("label"), str) else None
        fields = tuple(_fields(document, block.get("fields"), f"{inner}/fields"))
        variants.append(SchemaField(name, FieldType.OBJECT, label, fields=fields))
    if not variants:
        document.report(f"{pointer}/blocks", "A block needs a list of blocks")
        return field
    key = document.text(properties, "blockKey", pointer) or _BLOCK_KEY
    return replace(field, variants=tuple(variants), variant_key=key)


def _with_relation(
    document: SchemaDocument, pointer: str, options: Mapping[str, object], field: SchemaField
) -> SchemaField:
    return replace(
        field,
        collection=document.relation(options, "collection", pointer),
        value_field=document.text(options, "value", pointer) or "{path}",
        title_field=document.text(options, "label", pointer),
    )


def _with_format(
    document: SchemaDocument, pointer: str, options: Mapping[str, object], field: SchemaField
) -> SchemaField:
    """Return a date with its format. Values in a format that is not supported are texts."""
    written = document.text(options, "format", f"{pointer}/options")
    if written is None or is_format(written):
        return replace(field, date_format=written)
    document.report(f"{pointer}/options/format", f"“{written[:100]}” is not a supported format of dates")
    return replace(field, type=FieldType.STRING)


def _with_pattern(document: SchemaDocument, pointer: str, value: object, field: SchemaField) -> SchemaField:
    """Return the field with its pattern: a text, or a mapping with `regex` and `message`."""
    settings = value if isinstance(value, Mapping) else {"regex": value}
    message = document.text(settings, "message", f"{pointer}/pattern")
    return replace(field, pattern=document.pattern(settings.get("regex"), f"{pointer}/pattern"), pattern_hint=message)


def _choices(options: Mapping[str, object]) -> tuple[object, ...]:
    values = options.get("values")
    listed = values[:MAX_OPTIONS] if isinstance(values, list) else []
    plain = [choice.get("value", choice.get("name")) if isinstance(choice, Mapping) else choice for choice in listed]
    return tuple(value for value in plain if value is not None and not isinstance(value, dict | list))
