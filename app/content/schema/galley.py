"""Reader of the section `collections` of `.galley.yml`. `docs/galley.schema.json` describes the same form."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.content.schema.document import SchemaDocument
from app.content.schema.model import (
    MAX_COLLECTIONS,
    Collection,
    ContentSchema,
    EntryTemplate,
    FieldType,
    SchemaField,
    SourceKind,
)
from app.content.schema.patterns import is_pattern
from app.content.slugs import SlugForm

DEFAULT_PATTERN, DEFAULT_TEMPLATE = "**/*.md", "{{slug}}.md"
MAX_OPTIONS = 500


def read_galley(path: str, data: bytes) -> ContentSchema | None:
    """Return the collections of the file, or None if it has no such section. A broken file has problems."""
    document = SchemaDocument(path, data)
    if not document.problems and "collections" not in document.values:
        return None
    collections = tuple(_collections(document))
    return ContentSchema(SourceKind.GALLEY, path, collections, tuple(document.problems))


def _collections(document: SchemaDocument) -> Iterator[Collection]:
    names: set[str] = set()
    items = document.mappings(document.values.get("collections"), "/collections", MAX_COLLECTIONS)
    for pointer, properties in items:
        name = document.text(properties, "name", pointer)
        folder = document.folder_of(properties, "folder", pointer)
        if not name or name in names:
            document.report(f"{pointer}/name", "A collection needs a name that no other collection has")
        elif folder is not None:
            names.add(name)
            yield _collection(document, pointer, properties, name, folder)


def _collection(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], name: str, folder: str
) -> Collection:
    pattern = document.text(properties, "pattern", pointer) or DEFAULT_PATTERN
    if not is_pattern(pattern):
        document.report(f"{pointer}/pattern", "This is not a pattern of file names")
        pattern = DEFAULT_PATTERN
    fields = tuple(_fields(document, properties.get("fields"), f"{pointer}/fields"))
    template = document.mapping(properties.get("template"), f"{pointer}/template")
    values = document.mapping(template.get("values"), f"{pointer}/template/values")
    body = template.get("body", "")
    return Collection(
        name=name,
        label=document.text(properties, "label", pointer),
        folder=folder,
        pattern=pattern,
        fields=fields,
        template=EntryTemplate(
            document.text(template, "path", f"{pointer}/template") or DEFAULT_TEMPLATE,
            {inner.name: inner.default for inner in fields if inner.default is not None} | dict(values),
            body if isinstance(body, str) else "",
            _slug_form(document, template, f"{pointer}/template"),
        ),
    )


def _slug_form(document: SchemaDocument, template: Mapping[str, object], pointer: str) -> SlugForm:
    form = template.get("slug", SlugForm.UNICODE)
    if isinstance(form, str) and form in tuple(SlugForm):
        return SlugForm(form)
    document.report(f"{pointer}/slug", f"The form of file names must be one of {', '.join(SlugForm)}")
    return SlugForm.UNICODE


def _fields(document: SchemaDocument, value: object, pointer: str) -> Iterator[SchemaField]:
    for inner, name, properties in document.fields(value, pointer):
        field = _field(document, inner, name, properties)
        if field is not None:
            yield field


def _field(document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]) -> SchemaField | None:
    kind = properties.get("type")
    if not isinstance(kind, str) or kind not in tuple(FieldType):
        document.report(f"{pointer}/type", f"The type must be one of {', '.join(FieldType)}")
        return None
    field = SchemaField(
        name=name,
        type=FieldType(kind),
        label=document.text(properties, "label", pointer),
        required=document.flag(properties, "required", pointer, default=False),
        default=properties.get("default"),
        multiple=document.flag(properties, "multiple", pointer, default=False),
    )
    return _with_parts(document, pointer, properties, field)


def _with_parts(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], field: SchemaField
) -> SchemaField | None:
    """Return the field with the properties that only its type has."""
    if field.type is FieldType.OBJECT:
        return replace(field, fields=tuple(_fields(document, properties.get("fields"), f"{pointer}/fields")))
    if field.type is FieldType.LIST and properties.get("item") is not None:
        item = document.mapping(properties["item"], f"{pointer}/item")
        if not item or not document.take_field(pointer) or pointer.count("/item") > 4:
            return field
        return replace(field, item=_field(document, f"{pointer}/item", "", item))
    if field.type is FieldType.SELECT:
        options = properties.get("options")
        if (
            not isinstance(options, list)
            or not 0 < len(options) <= MAX_OPTIONS
            or any(not isinstance(option, str | int | float) for option in options)
        ):
            document.report(f"{pointer}/options", f"A select needs 1 to {MAX_OPTIONS} texts, numbers or booleans")
            return None
        return replace(field, options=tuple(options))
    if field.type is FieldType.RELATION:
        return replace(field, collection=document.text(properties, "collection", pointer))
    if field.type is FieldType.MIXED:
        types = properties.get("types")
        supported = (
            [kind for kind in types if isinstance(kind, str) and kind in tuple(FieldType)]
            if isinstance(types, list)
            else []
        )
        return replace(field, types=tuple(map(FieldType, supported)))
    return field
