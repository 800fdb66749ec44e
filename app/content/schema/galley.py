"""Reader of the sections `collections` and `exclude` of `.galley.yml`. `docs/galley.schema.json` describes them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.content.schema.date_formats import is_format
from app.content.schema.document import MAX_HINT, SchemaDocument
from app.content.schema.model import (
    MAX_COLLECTIONS,
    MAX_LOCALES,
    Collection,
    CollectionFilter,
    ContentSchema,
    EntryTemplate,
    FieldType,
    SchemaField,
    SourceKind,
)
from app.content.schema.patterns import is_pattern
from app.content.slugs import SlugForm

DEFAULT_PATTERN, DEFAULT_TEMPLATE = "**/*.md", "{{slug}}.md"
MAX_OPTIONS, MAX_EXCLUDED = 500, 50


def read_galley(path: str, data: bytes) -> ContentSchema | None:
    """Return the collections of the file, or None if it has no such section. A broken file has problems."""
    document = SchemaDocument(path, data)
    if not document.problems and "collections" not in document.values:
        return None
    collections = document.read_collections(_collections(document), "/collections")
    return ContentSchema(SourceKind.GALLEY, path, collections, tuple(document.problems))


def read_excluded(path: str, data: bytes) -> tuple[str, ...]:
    """Return the folders that lists omit. Items that are no folder are ignored."""
    document = SchemaDocument(path, data)
    items = document.values.get("exclude")
    texts = [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
    return tuple(folder for item in texts[:MAX_EXCLUDED] if (folder := document.folder(item, "/exclude")))


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
        exclude=_texts(document, properties, "exclude", pointer, MAX_OPTIONS),
        filter=_filter(document, properties.get("filter"), f"{pointer}/filter"),
        locales=_texts(document, properties, "locales", pointer, MAX_LOCALES),
        media_folder=document.text(properties, "media_folder", pointer),
        public_folder=document.text(properties, "public_folder", pointer),
    )


def _texts(
    document: SchemaDocument, properties: Mapping[str, object], name: str, pointer: str, limit: int
) -> tuple[str, ...]:
    values = properties.get(name)
    texts = [item for item in values if isinstance(item, str) and item] if isinstance(values, list) else []
    if values is not None and (not isinstance(values, list) or len(texts) < len(values) or len(texts) > limit):
        document.report(f"{pointer}/{name}", f"This must be a list of at most {limit} texts")
    return tuple(texts[:limit])


def _filter(document: SchemaDocument, value: object, pointer: str) -> CollectionFilter | None:
    properties = document.mapping(value, pointer)
    name, values = document.text(properties, "field", pointer), properties.get("values")
    scalars = [item for item in values if isinstance(item, str | int | float)] if isinstance(values, list) else []
    if name and scalars:
        return CollectionFilter(name, tuple(scalars[:MAX_OPTIONS]))
    if value is not None:
        document.report(pointer, "A filter needs a field, and a list of values")
    return None


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
        hint=document.text(properties, "hint", pointer, limit=MAX_HINT),
        minimum=document.number(properties, "minimum", pointer),
        maximum=document.number(properties, "maximum", pointer),
        integer=document.flag(properties, "integer", pointer, default=False),
        pattern=document.pattern(properties.get("pattern"), f"{pointer}/pattern"),
        pattern_hint=document.text(properties, "pattern_hint", pointer),
        date_format=_date_format(document, properties, pointer),
        accepts_single=document.flag(properties, "accepts_single", pointer, default=False),
        translated=document.flag(properties, "translated", pointer, default=False),
        media_folder=document.text(properties, "media_folder", pointer),
        public_folder=document.text(properties, "public_folder", pointer),
    )
    return _with_parts(document, pointer, properties, field)


def _date_format(document: SchemaDocument, properties: Mapping[str, object], pointer: str) -> str | None:
    text = document.text(properties, "date_format", pointer)
    if text is None or is_format(text):
        return text
    message = f"“{text}” is not a supported format of dates. Use letters of Unicode, for example dd.MM.yyyy"
    document.report(f"{pointer}/date_format", message)
    return None


def _with_parts(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], field: SchemaField
) -> SchemaField | None:
    """Return the field with the properties that only its type has."""
    if field.type is FieldType.OBJECT:
        variants = tuple(_fields(document, properties.get("variants"), f"{pointer}/variants"))
        variant_key = document.text(properties, "variant_key", pointer)
        if variants and variant_key is None:
            document.report(f"{pointer}/variant_key", "Variants need a key with the name of the variant")
        return replace(
            field,
            fields=tuple(_fields(document, properties.get("fields"), f"{pointer}/fields")),
            variants=tuple(variant for variant in variants if variant.type is FieldType.OBJECT) if variant_key else (),
            variant_key=variant_key,
        )
    if field.type is FieldType.LIST and properties.get("item") is not None:
        item = document.mapping(properties["item"], f"{pointer}/item")
        if not item or not document.take_field(pointer) or pointer.count("/item") > 4:
            return field
        return replace(field, item=_field(document, f"{pointer}/item", "", item))
    if field.type is FieldType.SELECT:
        listed = properties.get("options")
        options = listed if isinstance(listed, list) else []
        if not 0 < len(options) <= MAX_OPTIONS or not all(isinstance(option, str | int | float) for option in options):
            document.report(f"{pointer}/options", f"A select needs 1 to {MAX_OPTIONS} texts, numbers or booleans")
            return None
        return replace(field, options=tuple(options))
    if field.type is FieldType.RELATION:
        return replace(
            field,
            collection=document.relation(properties, "collection", pointer),
            value_field=document.text(properties, "value_field", pointer),
            title_field=document.text(properties, "title_field", pointer),
        )
    if field.type is FieldType.MIXED:
        listed = properties.get("types")
        types = [kind for kind in listed if kind in tuple(FieldType)] if isinstance(listed, list) else []
        return replace(field, types=tuple(map(FieldType, types)))
    return field
