"""Reader of `frontmatter.json` of the extension Front Matter CMS."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from app.content.draft_state import DraftField, read_draft_field
from app.content.schema.date_formats import is_format
from app.content.schema.document import MAX_HINT, SchemaDocument
from app.content.schema.galley import MAX_OPTIONS
from app.content.schema.model import (
    MAX_COLLECTIONS,
    MAX_DEPTH,
    Collection,
    CollectionFilter,
    ContentSchema,
    FieldType,
    SchemaField,
    SourceKind,
    with_defaults,
)
from app.content.schema.validation import without_invalid_default

CONTENT_TYPES, PAGE_FOLDERS = "frontMatter.taxonomy.contentTypes", "frontMatter.content.pageFolders"
FIELD_GROUPS = "frontMatter.taxonomy.fieldGroups"
DRAFT_FIELD, DATE_FORMAT = "frontMatter.content.draftField", "frontMatter.taxonomy.dateFormat"
FILE = "frontmatter.json"
FILE_PREFIX, PUBLIC_FOLDER = "frontMatter.templates.prefix", "frontMatter.content.publicFolder"
DEFAULT_TYPE, TYPE = "default", "type"
DEFAULT_PREFIX = "yyyy-MM-dd"
MAX_VARIANTS = 50
GROUP_KEY = "fieldGroup"
"""The key of an item of a block with the name of its group."""
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

_TERMS = ("tags", "categories", "taxonomy")
_DATE_PREFIX = re.compile(r"\{\{date\|([^{}]*+)\}\}")
_DATE_PART = re.compile(r"yyyy|MM|dd|HH|mm|ss|[a-zA-Z]+")
_PLACEHOLDERS = {"yyyy": "year", "MM": "month", "dd": "day", "HH": "hour", "mm": "minute", "ss": "second"}
_NO_VALUES = ("heading", "divider")
_DEFAULT_FIELDS = (
    SchemaField("title", FieldType.STRING, "Title"),
    SchemaField("description", FieldType.STRING, "Description"),
    SchemaField("date", FieldType.DATETIME, "Publishing date"),
    SchemaField("preview", FieldType.IMAGE, "Content preview"),
    SchemaField("draft", FieldType.BOOLEAN, "Is in draft"),
    SchemaField("tags", FieldType.LIST, "Tags", item=SchemaField("", FieldType.STRING), accepts_single=True),
    SchemaField(
        "categories", FieldType.LIST, "Categories", item=SchemaField("", FieldType.STRING), accepts_single=True
    ),
)
"""Fields of the content type `default` if the file does not define it."""


def read_front_matter_cms(path: str, data: bytes) -> ContentSchema | None:
    """Return the collections of the file, or None if it has none. A broken file has problems."""
    document = SchemaDocument(path, data)
    groups = _value(document, FIELD_GROUPS)
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, Mapping) and isinstance(group.get("id"), str):
            document.groups.setdefault(group["id"], group)
    collections = document.read_collections(_collections(document), f"/{PAGE_FOLDERS}")
    if not collections and not document.problems:
        return None
    return ContentSchema(SourceKind.FRONT_MATTER, path, collections, tuple(document.problems))


def read_draft_setting(path: str, data: bytes) -> DraftField | None:
    """Return the field that marks drafts, or None if the file does not name it."""
    return read_draft_field(_value(SchemaDocument(path, data), DRAFT_FIELD))


@dataclass(frozen=True)
class _ContentType:
    """The fields and the files of a type of pages. `prefix` is None if the type has no own one."""

    name: str = DEFAULT_TYPE
    fields: tuple[SchemaField, ...] = _DEFAULT_FIELDS
    extension: str = "md"
    is_bundle: bool = False
    prefix: str | None = None


def _collections(document: SchemaDocument) -> Iterator[Collection]:
    """Yield the collections of each page folder: one for each of its content types.

    The first has all pages that name no other type.
    """
    types = {content_type.name: content_type for content_type in _content_types(document)}
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
        first, *others = _types_of(document, inner, properties, types)
        yield _collection(document, inner, properties, (title, folder), first)
        for content_type in others:
            name = f"{title}.{content_type.name}"
            if name not in names:
                names.add(name)
                collection = _collection(document, inner, properties, (name, folder), content_type)
                entry_filter = CollectionFilter(TYPE, (content_type.name,))
                path = collection.template.path if collection.template is not None else ""
                yield with_defaults(replace(collection, filter=entry_filter), path)


def _types_of(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], types: Mapping[str, _ContentType]
) -> list[_ContentType]:
    """Return the content types of a folder, which are all types if it names none. The first is the default one."""
    chosen = properties.get("contentTypes")
    listed = [name for name in chosen if isinstance(name, str)] if isinstance(chosen, list) else []
    for name in listed:
        if name not in types and name != DEFAULT_TYPE:
            document.report(f"{pointer}/contentTypes", f"There is no content type “{name}”")
    default = types.get(DEFAULT_TYPE, _ContentType())
    used = [types[name] for name in dict.fromkeys(listed) if name in types]
    if len(used) == 1:
        return used
    others = used or list(types.values())
    return [default, *(other for other in others if other.name != DEFAULT_TYPE)]


def _collection(
    document: SchemaDocument,
    pointer: str,
    properties: Mapping[str, object],
    target: tuple[str, str],
    content_type: _ContentType,
) -> Collection:
    name, folder = target
    prefix = content_type.prefix
    if prefix is None:
        written = properties.get("filePrefix", _value(document, FILE_PREFIX, DEFAULT_PREFIX))
        prefix = _prefix(document, written, f"{pointer}/filePrefix")
    path = f"{prefix}{{{{slug}}}}"
    path += f"/index.{content_type.extension}" if content_type.is_bundle else f".{content_type.extension}"
    public = _value(document, PUBLIC_FOLDER)
    media_folder = "./" if content_type.is_bundle else public if isinstance(public, str) and public else None
    label = name.rpartition("/")[2]
    collection = Collection(
        name,
        folder,
        "**/*.{md,mdx,markdown}",
        content_type.fields,
        label,
        exclude=_excluded(document, pointer, properties),
        media_folder=media_folder,
        public_folder=None if media_folder in (None, "./") else "/",
        draft=read_draft_field(_value(document, DRAFT_FIELD)),
    )
    return with_defaults(collection, path)


def _excluded(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> tuple[str, ...]:
    """Return the excluded names of files. Excluded folders and patterns are problems."""
    listed = properties.get("excludePaths")
    paths = [path for path in listed[:MAX_OPTIONS] if isinstance(path, str)] if isinstance(listed, list) else []
    names = [path for path in paths if "." in path and not set("/*{") & set(path)]
    if len(names) < len(paths):
        document.report(f"{pointer}/excludePaths", "Only names of files can be excluded")
    return tuple(names)


def _prefix(document: SchemaDocument, value: object, pointer: str) -> str:
    """Return the start of a file name with its separator. A format of dates is written with placeholders."""
    if not isinstance(value, str) or not value:
        return ""
    text = value
    if "{{" not in text:
        text = f"{{{{date|{text}}}}}"
    text = _DATE_PREFIX.sub(lambda match: _DATE_PART.sub(_placeholder, match[1]), text)
    if "{{}}" in text:
        document.report(pointer, f"“{value}” is not a supported format of dates")
        return ""
    return text if text.endswith("/") else f"{text}-"


def _placeholder(match: re.Match[str]) -> str:
    return "{{" + _PLACEHOLDERS.get(match[0], "") + "}}"


def _content_types(document: SchemaDocument) -> Iterator[_ContentType]:
    items = document.mappings(_value(document, CONTENT_TYPES), f"/{CONTENT_TYPES}", MAX_COLLECTIONS)
    for pointer, properties in items:
        name = document.text(properties, "name", pointer)
        if not name:
            document.report(f"{pointer}/name", "A content type needs a name")
            continue
        has_prefix = "filePrefix" in properties
        fields = properties.get("fields")
        yield _ContentType(
            name,
            _DEFAULT_FIELDS if fields is None else tuple(_fields(document, fields, f"{pointer}/fields")),
            document.text(properties, "fileType", pointer) or "md",
            document.flag(properties, "pageBundle", pointer, default=False),
            _prefix(document, properties.get("filePrefix"), f"{pointer}/filePrefix") if has_prefix else None,
        )


def _value(document: SchemaDocument, name: str, default: object = None) -> object:
    """Return a setting that is written with a dotted name or as nested objects."""
    if name in document.values:
        return document.values[name]
    value: object = document.values
    for part in name.split("."):
        value = value.get(part, default) if isinstance(value, Mapping) else default
    return value


def _fields(document: SchemaDocument, value: object, pointer: str) -> Iterator[SchemaField]:
    if pointer.count("/fields") > MAX_DEPTH:
        document.report(pointer, "The fields are nested too deeply")
        return
    names: set[str] = set()
    for inner, properties in _merged(document, value, pointer):
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


def _merged(document: SchemaDocument, value: object, pointer: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the fields of a list. The fields of a group replace a collection of fields of a content type."""
    is_content_type = pointer.count("/fields") == 1
    for inner, properties in document.mappings(value, pointer, MAX_OPTIONS):
        if is_content_type and properties.get("type") == "fieldCollection":
            group = _group(document, properties.get("fieldGroup"), f"{inner}/fieldGroup")
            yield from document.mappings(group.get("fields"), f"{inner}/fieldGroup/fields", MAX_OPTIONS)
        else:
            yield inner, properties


def _field(document: SchemaDocument, pointer: str, name: str, properties: Mapping[str, object]) -> SchemaField:
    written = document.text(properties, "type", pointer) or "string"
    kind = _TYPES.get(written, FieldType.STRING)
    if written == "string" and properties.get("single") is False:
        kind = FieldType.TEXT
    draft = _value(document, DRAFT_FIELD)
    if written == "draft" and isinstance(draft, Mapping) and draft.get("type") == "choice":
        properties, kind = {**properties, "choices": draft.get("choices")}, FieldType.SELECT
    is_list = properties.get("multiple") is True and written in ("image", "file", "dataFile")
    options = _choices(properties) if kind is FieldType.SELECT else ()
    if kind is FieldType.SELECT and not options:
        document.report(f"{pointer}/choices", "A choice needs a list of values")
        kind = FieldType.STRING
    item = SchemaField("", kind) if is_list else _item(document, pointer, properties, written)
    default = properties.get("default")
    limits = properties.get("numberOptions") if kind is FieldType.NUMBER else None
    limits = document.mapping(limits, f"{pointer}/numberOptions")
    return SchemaField(
        name=name,
        type=FieldType.LIST if is_list else kind,
        label=document.text(properties, "title", pointer),
        required=properties.get("required") is True,
        default=None if isinstance(default, str) and "{{" in default else default,
        options=options,
        fields=_inner(document, pointer, properties) if kind is FieldType.OBJECT else (),
        item=item,
        collection=_related(document, pointer, properties) if kind is FieldType.RELATION else None,
        multiple=kind in (FieldType.SELECT, FieldType.RELATION) and properties.get("multiple") is True,
        hint=document.text(properties, "description", pointer, limit=MAX_HINT),
        minimum=document.number(limits, "min", f"{pointer}/numberOptions"),
        maximum=_maximum(document, pointer, properties, limits, written),
        date_format=_date_format(document, pointer, properties) if kind is FieldType.DATETIME else None,
        value_field=document.text(properties, "contentTypeValue", pointer) if kind is FieldType.RELATION else None,
        accepts_single=written in _TERMS and properties.get("singleValueAsString") is True,
    )


def _related(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> str | None:
    """Return the first collection with the content type of a relation."""
    name = document.text(properties, "contentTypeName", pointer)
    folders = _value(document, PAGE_FOLDERS)
    for folder in folders[:MAX_COLLECTIONS] if isinstance(folders, list) else ():
        title, listed = (
            (folder.get("title"), folder.get("contentTypes")) if isinstance(folder, Mapping) else (None, None)
        )
        if isinstance(title, str) and (not listed or (isinstance(listed, list) and name in listed)):
            return title if name == DEFAULT_TYPE or listed == [name] else f"{title}.{name}"
    document.report(f"{pointer}/contentTypeName", f"No page folder has the content type “{name}”")
    return None


def _maximum(
    document: SchemaDocument, pointer: str, properties: Mapping[str, object], limits: Mapping[str, object], written: str
) -> float | None:
    if written in _TERMS and properties.get("taxonomyLimit") != 0:
        return document.number(properties, "taxonomyLimit", pointer)
    return document.number(limits, "max", f"{pointer}/numberOptions")


def _date_format(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> str | None:
    written = properties.get("dateFormat") or _value(document, DATE_FORMAT)
    if not isinstance(written, str) or not written:
        return None
    if is_format(written):
        return written
    document.report(f"{pointer}/dateFormat", f"“{written[:100]}” is not a supported format of dates")
    return None


def _item(document: SchemaDocument, pointer: str, properties: Mapping[str, object], written: str) -> SchemaField | None:
    """Return the item of a list: a text, or an object with the fields of one of the groups of a block."""
    if _TYPES.get(written) is not FieldType.LIST:
        return None
    if written != "block":
        return SchemaField("", FieldType.STRING)
    listed = properties.get("fieldGroup")
    names = list(dict.fromkeys(map(str, listed))) if isinstance(listed, list) else [listed]
    if len(names) > MAX_VARIANTS:
        document.report(f"{pointer}/fieldGroup", f"Only the first {MAX_VARIANTS} groups are read")
    variants = []
    for name in names[:MAX_VARIANTS]:
        group = _group(document, name, f"{pointer}/fieldGroup")
        fields = tuple(_fields(document, group.get("fields"), f"{pointer}/fieldGroup/fields"))
        if group:
            variants.append(SchemaField(str(name), FieldType.OBJECT, fields=fields))
    return SchemaField("", FieldType.OBJECT, variants=tuple(variants), variant_key=GROUP_KEY if variants else None)


def _inner(document: SchemaDocument, pointer: str, properties: Mapping[str, object]) -> tuple[SchemaField, ...]:
    """Return the fields of an object, or of the field group that it names."""
    fields = properties.get("fields")
    if properties.get("type") == "fieldCollection":
        fields = _group(document, properties.get("fieldGroup"), f"{pointer}/fieldGroup").get("fields")
    return tuple(_fields(document, fields, f"{pointer}/fields"))


def _group(document: SchemaDocument, name: object, pointer: str) -> Mapping[str, object]:
    if isinstance(name, str) and name in document.groups:
        return document.groups[name]
    document.report(pointer, f"There is no field group “{str(name)[:100]}”")
    return {}


def _choices(properties: Mapping[str, object]) -> tuple[object, ...]:
    choices = properties.get("choices")
    listed = choices[:MAX_OPTIONS] if isinstance(choices, list) else []
    plain = [choice.get("id") if isinstance(choice, Mapping) else choice for choice in listed]
    return tuple(value for value in plain if value is not None and not isinstance(value, dict | list))
