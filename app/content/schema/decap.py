"""Reader of `config.yml`, `config.json` and `config.toml` of Decap CMS, Netlify CMS and Sveltia CMS."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.content.field_values import ValueKind, kind_of
from app.content.schema.date_formats import unicode_format
from app.content.schema.decap_translations import (
    LOCALE,
    OLD_NAMES,
    STRUCTURES,
    Structure,
    Translations,
    read_translations,
)
from app.content.schema.document import BODY, MAX_HINT, SchemaDocument
from app.content.schema.galley import MAX_OPTIONS
from app.content.schema.model import (
    MAX_COLLECTIONS,
    MAX_TEXT,
    Collection,
    CollectionFilter,
    ContentSchema,
    FieldType,
    SchemaField,
    SourceKind,
    text_start,
    with_defaults,
)
from app.content.schema.placeholders import problems_of
from app.content.schema.validation import without_invalid_default
from app.content.slugs import SlugForm

_TYPES = {
    "string": FieldType.STRING,
    "color": FieldType.STRING,
    "compute": FieldType.STRING,
    "map": FieldType.STRING,
    "uuid": FieldType.STRING,
    "file": FieldType.STRING,
    "text": FieldType.TEXT,
    "markdown": FieldType.TEXT,
    "richtext": FieldType.TEXT,
    "number": FieldType.NUMBER,
    "boolean": FieldType.BOOLEAN,
    "date": FieldType.DATE,
    "datetime": FieldType.DATETIME,
    "image": FieldType.IMAGE,
    "list": FieldType.LIST,
    "object": FieldType.OBJECT,
    "keyvalue": FieldType.OBJECT,
    "relation": FieldType.RELATION,
    "select": FieldType.SELECT,
}
_TYPES_OF_VALUES = {
    ValueKind.BOOLEAN: FieldType.BOOLEAN,
    ValueKind.NUMBER: FieldType.NUMBER,
    ValueKind.LIST: FieldType.LIST,
    ValueKind.OBJECT: FieldType.OBJECT,
}
_DATA = {"json": "json", "yml": "yml", "yaml": "yml", "toml": "toml"}
_TYPE_KEY = "type"
_LIMITED = (FieldType.NUMBER, FieldType.LIST, FieldType.SELECT, FieldType.RELATION)
MAX_NESTED = 10


def read_decap(path: str, data: bytes) -> ContentSchema | None:
    """Return the collections of the file, or None if it has none. The result lists the problems of a broken file."""
    document = SchemaDocument(path, data)
    collections = document.read_collections(_collections(document), "/collections")
    i18n = document.mapping(document.values.get("i18n"), "/i18n")
    if i18n.get("structure") not in (None, *STRUCTURES, *OLD_NAMES):
        document.report("/i18n/structure", f"The structure must be one of {', '.join(STRUCTURES)}")
    if not collections and not document.problems:
        return None
    return ContentSchema(SourceKind.DECAP, path, collections, tuple(document.problems))


def _collections(document: SchemaDocument) -> Iterator[Collection]:
    items = document.mappings(document.values.get("collections"), "/collections", MAX_COLLECTIONS)
    for pointer, properties in items:
        name = document.text(properties, "name", pointer)
        if "divider" in properties and not name:
            continue
        if not name:
            document.report(f"{pointer}/name", "A collection needs a name")
        elif "files" in properties:
            yield from _files(document, f"{pointer}/files", name, properties)
        else:
            yield from _folder(document, pointer, name, properties)
    if "singletons" in document.values:
        files = {"files": document.values["singletons"], "i18n": document.values.get("i18n")}
        singletons = _files(document, "/singletons", "singletons", files)
        yield from (replace(collection, group="") for collection in singletons)


def _folder(
    document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]
) -> Iterator[Collection]:
    folder = document.folder_of(properties, "folder", pointer)
    if folder is None:
        return
    extension = _extension(document, pointer, properties)
    i18n = read_translations(document.values.get("i18n"), properties.get("i18n"))
    is_nested = "nested" in properties or "/" in str(properties.get("path", "")) or i18n.has_folders
    name_of_slug = "path" if document.text(properties, "path", pointer) else "slug"
    slug = document.text(properties, name_of_slug, pointer) or "{{slug}}"
    for problem in problems_of(slug):
        document.report(f"{pointer}/{name_of_slug}", problem)
    media_folder, public_folder = _media_folders(document, pointer, properties)
    collection = Collection(
        name=name,
        label=document.text(properties, "label", pointer),
        folder=folder,
        pattern=f"**/*.{extension}" if is_nested else f"*.{extension}",
        fields=i18n.localized(
            _fields(document, properties.get("fields"), f"{pointer}/fields", is_top=extension not in _DATA)
        ),
        filter=_filter(document, properties.get("filter"), f"{pointer}/filter"),
        locales=i18n.locales if i18n.has_folders or i18n.has_suffixes else (),
        media_folder=media_folder,
        public_folder=public_folder,
        can_create=document.flag(properties, "create", pointer, default=False),
        can_delete=document.flag(properties, "delete", pointer, default=True),
        has_body=document.has_body(properties.get("fields")),
        requires_body=_requires_body(document, properties.get("fields")),
    )
    start = text_start(document.text(properties, "format", pointer))
    form = _slug_form(document.values.get("slug"))
    collection = with_defaults(collection, i18n.path_of(slug, extension), start, slug=form)
    if not i18n.has_root_folders:
        yield collection
        return
    for locale in i18n.locales:
        own = folder if i18n.is_omitted(locale) else f"{locale}/{folder}".rstrip("/")
        yield _translation(collection, i18n, locale, own, collection.pattern)


def _translation(collection: Collection, i18n: Translations, locale: str, folder: str, pattern: str) -> Collection:
    """Return the collection of one locale, which has an own folder or file."""
    if locale == i18n.locales[0]:
        return replace(collection, folder=folder, pattern=pattern)
    fields = (replace(field, required=field.required and field.translated) for field in collection.fields)
    return replace(
        collection,
        name=f"{collection.name}.{locale}",
        original=collection.name,
        folder=folder,
        pattern=pattern,
        fields=tuple(fields),
        requires_body=False,
    )


def _filter(document: SchemaDocument, value: object, pointer: str) -> CollectionFilter | None:
    """Return the filter of a collection. A regular expression is a problem."""
    properties = document.mapping(value, pointer)
    name, own = document.text(properties, "field", pointer), properties.get("value")
    values = own if isinstance(own, list) else [own]
    scalars = tuple(item for item in values if isinstance(item, str | int | float))
    if name and scalars:
        return CollectionFilter(name, scalars[:MAX_OPTIONS])
    if value is not None:
        document.report(pointer, "Only filters with a field and its values are supported")
    return None


def _media_folders(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], *, is_field: bool = False
) -> tuple[str | None, str | None]:
    """Return the folder of images and its address. A folder without `/` is relative to that of the entry.

    Collections without a folder have that of the site.
    """
    site = document.text(document.values, "media_folder", "") or ""
    site_address = document.text(document.values, "public_folder", "") or site.strip("/")
    if not re.match(r"[./]|[a-z]+:", site_address):
        site_address = f"/{site_address}"
    address = document.text(properties, "public_folder", pointer)
    if properties.get("media_folder") is None:
        return (site.strip("/") or None, site_address) if site and not is_field else (None, address)
    folder = document.text(properties, "media_folder", pointer) or ""
    full = folder.replace("{{media_folder}}", site.strip("/"))
    address = address.replace("{{public_folder}}", site_address)[:MAX_TEXT] if address is not None else None
    if full.startswith("/") or full != folder:
        return full.strip("/")[:MAX_TEXT] or None, address
    return f"./{full.removeprefix('./')}"[:MAX_TEXT], address


def _slug_form(options: object) -> SlugForm:
    """Return the form of file names of Decap's option `slug`."""
    values = options if isinstance(options, dict) else {}
    if values.get("encoding") == "ascii":
        return SlugForm.ASCII
    return SlugForm.UNACCENTED if values.get("clean_accents") is True else SlugForm.UNICODE


def _extension(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> str:
    extension = document.text(properties, "extension", pointer)
    form = document.text(properties, "format", pointer)
    return (extension or _DATA.get(form or "") or "md").lstrip(".").replace("*", "").replace("/", "")


def _files(document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]) -> Iterator[Collection]:
    """Yield a collection for each file of a collection of files. The file can be neither created nor deleted."""
    label = document.text(properties, "label", pointer.rpartition("/")[0])
    for inner, file in document.mappings(properties.get("files"), pointer, MAX_COLLECTIONS):
        path = document.folder_of(file, "file", inner)
        own = document.text(file, "name", inner)
        if not path or not own:
            if "divider" not in file:
                document.report(inner, "A file needs a name and a path")
            continue
        i18n = read_translations(document.values.get("i18n"), properties.get("i18n"), file.get("i18n"), is_file=True)
        if LOCALE in path:
            i18n = replace(i18n, structure=Structure.PLACEHOLDER)
            if not i18n.locales:
                document.report(f"{inner}/file", "The file needs `i18n` because its path contains {{locale}}")
                continue
        for collection in _file(document, inner, f"{name}.{own}", path, file, i18n):
            yield replace(collection, group=name, group_label=label, can_create=False, can_delete=False)


def _file(
    document: SchemaDocument, pointer: str, name: str, path: str, file: Mapping[str, object], i18n: Translations
) -> Iterator[Collection]:
    is_top = path.rpartition(".")[2].lower() not in _DATA
    media_folder, public_folder = _media_folders(document, pointer, file)
    folder, _, base = path.rpartition("/")
    collection = Collection(
        name=name,
        label=document.text(file, "label", pointer),
        folder=folder,
        pattern=base,
        fields=i18n.localized(_fields(document, file.get("fields"), f"{pointer}/fields", is_top=is_top)),
        media_folder=media_folder,
        public_folder=public_folder,
        has_body=document.has_body(file.get("fields")),
        requires_body=_requires_body(document, file.get("fields")),
    )
    paths = {locale: i18n.file_of(path, locale) for locale in i18n.locales} if i18n.has_files else {}
    if not paths:
        yield with_defaults(collection, base)
    for locale, own in paths.items():
        folder, _, base = own.rpartition("/")
        yield with_defaults(_translation(collection, i18n, locale, folder, base), base)


def _fields(document: SchemaDocument, value: object, pointer: str, *, is_top: bool = False) -> Iterator[SchemaField]:
    """Yield the fields. The field `body` of a page is the text below the front matter."""
    for inner, name, properties in document.fields(value, pointer):
        if not (is_top and name == BODY):
            yield without_invalid_default(_field(document, inner, name, properties))


def _field(document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]) -> SchemaField:
    widget = document.text(properties, "widget", pointer) or "string"
    kind = _type_of(document, pointer, properties, widget)
    options = _options(document, pointer, properties) if kind is FieldType.SELECT else ()
    if kind is FieldType.SELECT and not options:
        kind = FieldType.STRING
    default = properties.get("default")
    field = SchemaField(
        name=name,
        type=kind,
        label=_label(document, properties, pointer),
        required=_is_required(properties, widget),
        default=None if isinstance(default, str) and "{{" in default else default,
        options=options,
        fields=_inner_fields(document, pointer, properties, widget) if kind is FieldType.OBJECT else (),
        item=_item(document, pointer, properties) if kind is FieldType.LIST and widget == "list" else None,
        multiple=kind in (FieldType.SELECT, FieldType.RELATION) and properties.get("multiple") is True,
        hint=document.text(properties, "hint", pointer, limit=MAX_HINT),
        minimum=_limit(document, pointer, properties, ("min", "minlength"), kind),
        maximum=_limit(document, pointer, properties, ("max", "maxlength"), kind),
        integer=kind is FieldType.NUMBER and properties.get("value_type") == "int",
        translated=properties.get("i18n") in (True, "translate", "duplicate"),
        shared=properties.get("i18n") == "duplicate",
    )
    if kind is FieldType.RELATION:
        file = document.text(properties, "file", pointer)
        field = replace(
            field,
            collection=document.relation(properties, "collection", pointer, file=file),
            value_field=document.text(properties, "value_field", pointer),
            title_field=_display(properties.get("display_fields")),
        )
    if kind in (FieldType.DATE, FieldType.DATETIME):
        field = _with_format(document, pointer, properties, field)
    if "pattern" in properties:
        field = _with_pattern(document, pointer, properties["pattern"], field)
    if kind is FieldType.OBJECT and "types" in properties:
        field = _with_variants(document, pointer, properties, field)
    if widget in ("image", "file"):
        media_folder, public_folder = _media_folders(document, pointer, properties, is_field=True)
        field = replace(field, media_folder=media_folder, public_folder=public_folder)
        return _several(document, pointer, properties, field)
    return field


def _display(names: object) -> str | None:
    """Return the fields of the title of a related entry as a text with placeholders."""
    listed = names if isinstance(names, list) else [names]
    texts = [name if "{" in name else f"{{{{{name}}}}}" for name in listed if isinstance(name, str) and name]
    return " ".join(texts)[:MAX_TEXT] or None


def _is_required(properties: Mapping[str, object], widget: str) -> bool:
    """Return whether a value is required. By default it is, but a missing boolean is false."""
    return widget != "hidden" and properties.get("required", widget != "boolean") is not False


def _requires_body(document: SchemaDocument, fields: object) -> bool:
    """Return whether a page must have a text."""
    body = document.body(fields)
    return body is not None and _is_required(body, str(body.get("widget")))


def _type_of(document: SchemaDocument, pointer: str, properties: Mapping[str, object], widget: str) -> FieldType:
    default = properties.get("default")
    if widget == "hidden":
        return _TYPES_OF_VALUES.get(kind_of(default), FieldType.STRING) if default is not None else FieldType.MIXED
    if widget == "code":
        return FieldType.TEXT if properties.get("output_code_only") is True else FieldType.OBJECT
    kind = _TYPES.get(widget)
    if kind is None:
        document.report(f"{pointer}/widget", f"The widget “{widget}” is not known. Its values are not compared")
        return FieldType.MIXED
    if (kind is FieldType.DATETIME and properties.get("time_format") is False) or properties.get("type") == "date":
        return FieldType.DATE if kind is FieldType.DATETIME else kind
    if kind is FieldType.DATETIME and (properties.get("date_format") is False or properties.get("type") == "time"):
        return FieldType.STRING
    if kind is FieldType.NUMBER and properties.get("value_type") not in (None, "int", "float"):
        return FieldType.STRING
    return kind


def _inner_fields(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], widget: str
) -> tuple[SchemaField, ...]:
    if widget != "code":
        return tuple(_fields(document, properties.get("fields"), f"{pointer}/fields"))
    keys = document.mapping(properties.get("keys"), f"{pointer}/keys")
    code = document.text(keys, "code", f"{pointer}/keys") or "code"
    language = document.text(keys, "lang", f"{pointer}/keys") or "lang"
    return SchemaField(code, FieldType.TEXT), SchemaField(language, FieldType.STRING)


def _limit(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], names: tuple[str, str], kind: FieldType
) -> float | None:
    """Return a limit of numbers and lists, or of the characters of a text. Limits of dates are problems."""
    number, length = names
    if kind in _LIMITED:
        return document.number(properties, number, pointer)
    if kind in (FieldType.DATE, FieldType.DATETIME) and number in properties:
        document.report(f"{pointer}/{number}", "Limits of dates are not compared")
    return document.number(properties, length, pointer) if kind in (FieldType.STRING, FieldType.TEXT) else None


def _several(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], field: SchemaField
) -> SchemaField:
    """Return a field of an image or file, or the list of a field with several of them."""
    library = properties.get("media_library")
    config = library.get("config") if isinstance(library, Mapping) else None
    if properties.get("multiple") is not True and not (isinstance(config, Mapping) and config.get("multiple") is True):
        return field
    item = SchemaField("", field.type, media_folder=field.media_folder, public_folder=field.public_folder)
    least, most = (document.number(properties, name, pointer) for name in ("min", "max"))
    field = replace(field, type=FieldType.LIST, item=item, minimum=least, maximum=most)
    return replace(field, media_folder=None, public_folder=None)


def _with_format(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], field: SchemaField
) -> SchemaField:
    """Return a date with its format. Values in a format that is not supported are texts."""
    name = "format" if properties.get("format") else "date_format"
    written = properties.get(name)
    time_format = properties.get("time_format")
    if name == "date_format" and isinstance(written, str) and isinstance(time_format, str):
        written = f"{written} {time_format}"
    if not isinstance(written, str) or not written:
        return field
    date_format = unicode_format(written)
    if date_format is not None:
        return replace(field, date_format=date_format)
    document.report(f"{pointer}/{name}", f"“{written[:100]}” is not a supported format of dates")
    return replace(field, type=FieldType.STRING)


def _with_pattern(document: SchemaDocument, pointer: str, value: object, field: SchemaField) -> SchemaField:
    """Return the field with its pattern: a text, or a list of the text and a message."""
    text, message = (*value, None, None)[:2] if isinstance(value, list) else (value, None)
    return replace(
        field,
        pattern=document.pattern(text, f"{pointer}/pattern"),
        pattern_hint=message if isinstance(message, str) and 0 < len(message) <= MAX_TEXT else None,
    )


def _with_variants(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], field: SchemaField
) -> SchemaField:
    key = document.text(properties, "typeKey", pointer) or document.text(properties, "type_key", pointer) or _TYPE_KEY
    variants = []
    for inner, name, own in document.fields(properties.get("types"), f"{pointer}/types"):
        fields = tuple(_fields(document, own.get("fields"), f"{inner}/fields"))
        variants.append(SchemaField(name, FieldType.OBJECT, _label(document, own, inner), fields=fields))
    return replace(field, variants=tuple(variants), variant_key=key if variants else None)


def _label(document: SchemaDocument, properties: Mapping[str, object], pointer: str) -> str | None:
    return document.text(properties, "label", pointer)


def _item(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> SchemaField | None:
    """Return the item of a list: one `field`, several `fields`, one of several `types`, or a text."""
    if properties.get("types") is not None:
        return _with_variants(document, pointer, properties, SchemaField("", FieldType.OBJECT))
    if properties.get("fields") is not None:
        fields = tuple(_fields(document, properties["fields"], f"{pointer}/fields"))
        return SchemaField("", FieldType.OBJECT, fields=fields)
    inner = document.mapping(properties.get("field"), f"{pointer}/field")
    if not inner or pointer.count("/field") > MAX_NESTED or not document.take_field(pointer):
        return SchemaField("", FieldType.STRING)
    return _field(document, f"{pointer}/field", "", inner)


def _options(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> tuple[object, ...]:
    options = properties.get("options")
    if not isinstance(options, list):
        document.report(f"{pointer}/options", "A select needs a list of options")
        return ()
    values = [option.get("value") if isinstance(option, Mapping) else option for option in options[:MAX_OPTIONS]]
    return tuple(value for value in values if value is not None and not isinstance(value, dict | list))
