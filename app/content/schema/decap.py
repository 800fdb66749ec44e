"""Reader of `config.yml` of Decap CMS, Netlify CMS and Sveltia CMS."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
from app.content.slugs import SlugForm

_TYPES = {
    "string": FieldType.STRING,
    "text": FieldType.TEXT,
    "markdown": FieldType.TEXT,
    "richtext": FieldType.TEXT,
    "code": FieldType.TEXT,
    "number": FieldType.NUMBER,
    "boolean": FieldType.BOOLEAN,
    "date": FieldType.DATE,
    "datetime": FieldType.DATETIME,
    "image": FieldType.IMAGE,
    "file": FieldType.STRING,
    "list": FieldType.LIST,
    "object": FieldType.OBJECT,
    "keyvalue": FieldType.OBJECT,
    "relation": FieldType.RELATION,
    "select": FieldType.SELECT,
}
"""Every other widget is read as a text: hidden, color, map, uuid, compute and the widgets of the site."""

_DATA = {"json": "json", "yml": "yml", "yaml": "yml", "toml": "toml"}
_BODY = "body"
MAX_NESTED = 10


def read_decap(path: str, data: bytes) -> ContentSchema | None:
    """Return the collections of the file, or None if it has none. The result lists the problems of a broken file."""
    document = SchemaDocument(path, data)
    collections = tuple(_collections(document))[:MAX_COLLECTIONS]
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
            yield from _files(document, pointer, name, properties)
        else:
            yield from _folder(document, pointer, name, properties)


def _folder(
    document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]
) -> Iterator[Collection]:
    folder = document.folder_of(properties, "folder", pointer)
    if folder is None:
        return
    extension = _extension(document, pointer, properties)
    i18n = read_translations(document.values.get("i18n"), properties.get("i18n"))
    is_nested = "nested" in properties or "/" in str(properties.get("path", "")) or i18n.has_folders
    slug = document.text(properties, "path", pointer) or document.text(properties, "slug", pointer) or "{{slug}}"
    collection = Collection(
        name=name,
        label=document.text(properties, "label", pointer),
        folder=folder,
        pattern=f"**/*.{extension}" if is_nested else f"*.{extension}",
        fields=i18n.localized(
            _fields(document, properties.get("fields"), f"{pointer}/fields", is_top=extension not in _DATA)
        ),
    )
    yield with_defaults(collection, f"{slug}.{extension}", slug=_slug_form(document.values.get("slug")))


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
    for inner, file in document.mappings(properties.get("files"), f"{pointer}/files", MAX_COLLECTIONS):
        path = document.folder_of(file, "file", inner)
        own = document.text(file, "name", inner)
        if not path or not own:
            document.report(inner, "A file needs a name and a path")
            continue
        folder, _, base = path.rpartition("/")
        i18n = read_translations(document.values.get("i18n"), file.get("i18n", properties.get("i18n")))
        is_top = base.rpartition(".")[2].lower() not in _DATA
        collection = Collection(
            name=f"{name}.{own}",
            label=document.text(file, "label", inner),
            folder=folder,
            pattern=base,
            fields=i18n.localized(_fields(document, file.get("fields"), f"{inner}/fields", is_top=is_top)),
        )
        yield with_defaults(collection, base)


def _fields(document: SchemaDocument, value: object, pointer: str, *, is_top: bool = False) -> Iterator[SchemaField]:
    """Yield the fields. The field `body` of a page is the text below the front matter."""
    for inner, name, properties in document.fields(value, pointer):
        if not (is_top and name == _BODY):
            yield without_invalid_default(_field(document, inner, name, properties))


def _field(document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]) -> SchemaField:
    widget = document.text(properties, "widget", pointer) or "string"
    kind = _TYPES.get(widget, FieldType.STRING)
    if kind is FieldType.DATETIME and properties.get("time_format") is False:
        kind = FieldType.DATE
    if kind is FieldType.NUMBER and properties.get("value_type") not in (None, "int", "float"):
        kind = FieldType.STRING
    options = _options(document, pointer, properties) if kind is FieldType.SELECT else ()
    if kind is FieldType.SELECT and not options:
        kind = FieldType.STRING
    default = properties.get("default")
    if kind is FieldType.IMAGE and properties.get("multiple") is True:
        return SchemaField(name, FieldType.LIST, _label(document, properties, pointer), item=SchemaField("", kind))
    return SchemaField(
        name=name,
        type=kind,
        label=_label(document, properties, pointer),
        required=widget != "hidden" and properties.get("required", True) is not False,
        default=None if isinstance(default, str) and "{{" in default else default,
        options=options,
        fields=tuple(_fields(document, properties.get("fields"), f"{pointer}/fields"))
        if kind is FieldType.OBJECT
        else (),
        item=_item(document, pointer, properties) if kind is FieldType.LIST else None,
        collection=document.text(properties, "collection", pointer) if kind is FieldType.RELATION else None,
        multiple=kind in (FieldType.SELECT, FieldType.RELATION) and properties.get("multiple") is True,
    )


def _label(document: SchemaDocument, properties: Mapping[str, object], pointer: str) -> str | None:
    return document.text(properties, "label", pointer)


def _item(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> SchemaField | None:
    """Return the item of a list: one `field`, several `fields`, or a text.

    A list of several `types` has no item type.
    """
    if properties.get("types") is not None:
        return SchemaField("", FieldType.OBJECT)
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


MAX_LOCALES = 20


@dataclass(frozen=True)
class Translations:
    """The locales of a collection, the default one first, and the structure of its files."""

    structure: str | None = None
    locales: Sequence[str] = ()

    @property
    def has_folders(self) -> bool:
        """Return whether each locale has a folder below that of the collection."""
        return self.structure == "multiple_folders"

    def localized(self, fields: Iterable[SchemaField]) -> tuple[SchemaField, ...]:
        """Return the fields of an entry. A file with all translations has an object for each locale.

        Only the default locale has required fields, because an entry may lack translations.
        """
        own = tuple(fields)
        if self.structure != "single_file":
            return own
        optional = tuple(replace(field, required=False) for field in own)
        return tuple(
            SchemaField(locale, FieldType.OBJECT, fields=optional if number else own)
            for number, locale in enumerate(self.locales)
        )


def read_translations(site: object, own: object) -> Translations:
    """Return the translations of a collection from the setting `i18n` of the site and its own, which may be `true`."""
    if not isinstance(site, Mapping) or not (own is True or isinstance(own, Mapping)):
        return Translations()
    settings = {**site, **(own if isinstance(own, Mapping) else {})}
    listed, structure = settings.get("locales"), settings.get("structure")
    locales = [name for name in listed if isinstance(name, str) and name] if isinstance(listed, list) else []
    first = settings.get("default_locale", settings.get("defaultLocale"))
    locales.sort(key=lambda name: name != first)
    if not locales or not isinstance(structure, str):
        return Translations()
    return Translations(structure, tuple(dict.fromkeys(locales))[:MAX_LOCALES])
