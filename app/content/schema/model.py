"""Collections of content files with typed fields, independent of the file that describes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

from app.content.draft_state import DRAFT_FIELDS, DraftField, draft_field_of
from app.content.slugs import SlugForm

MAX_COLLECTIONS, MAX_FIELDS, MAX_DEPTH, MAX_PROBLEMS = 200, 2_000, 8, 100
MAX_TEXT = 500
MAX_LOCALES = 60


class FieldType(StrEnum):
    """The type of a field. A `mixed` field has values of several types in the files it was inferred from."""

    STRING = "string"
    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    LIST = "list"
    OBJECT = "object"
    IMAGE = "image"
    RELATION = "relation"
    SELECT = "select"
    MIXED = "mixed"


class SourceKind(StrEnum):
    """The kind of file that describes the collections."""

    GALLEY = "galley"
    DECAP = "decap"
    PAGES_CMS = "pages_cms"
    FRONT_MATTER = "front_matter"
    ARCHETYPES = "archetypes"
    INFERRED = "inferred"


@dataclass(frozen=True)
class SchemaField:
    """A field of the front matter.

    `options` belong to a select, `fields` to an object, `item` to a list, `collection`, `value_field` and `title_field`
    to a relation, `types` to a mixed field, and to a date that was inferred from files of which some have a text. A
    select or relation with `multiple` is a list.

    An object with `variants` has the fields of the variant whose name is the value of `variant_key`. `minimum` and
    `maximum` limit a number, the characters of a text or the items of a list. `integer`: a number has no fraction. With
    `accepts_single`, a list of one item may be the item. `translated`: each translation of an entry has a value.
    `shared`: all languages of an entry have the same value. Responses do not contain it.
    """

    name: str
    type: FieldType
    label: str | None = None
    required: bool = False
    default: object = None
    options: tuple[object, ...] = ()
    fields: tuple["SchemaField", ...] = ()
    item: "SchemaField | None" = None
    collection: str | None = None
    multiple: bool = False
    types: tuple[FieldType, ...] = ()
    hint: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    integer: bool = False
    pattern: str | None = None
    pattern_hint: str | None = None
    date_format: str | None = None
    variants: tuple["SchemaField", ...] = ()
    variant_key: str | None = None
    value_field: str | None = None
    title_field: str | None = None
    accepts_single: bool = False
    translated: bool = False
    shared: bool = False
    media_folder: str | None = None
    public_folder: str | None = None

    def has_option(self, value: object) -> bool:
        """Return whether a single value is an option.

        Front matter may write the number 1 where the schema has the text.
        """
        return value in self._options or str(value) in self._option_texts

    @cached_property
    def _options(self) -> frozenset[object]:
        return frozenset(self.options)

    @cached_property
    def _option_texts(self) -> frozenset[str]:
        return frozenset(map(str, self.options))

    def to_dict(self) -> dict[str, object]:
        """Return the form of responses and of `.galley.yml`, without absent properties."""
        values: dict[str, object] = {"name": self.name, "type": str(self.type)}
        optional: dict[str, object] = {
            "label": self.label,
            "required": self.required or None,
            "default": self.default,
            "options": list(self.options) or None,
            "fields": [inner.to_dict() for inner in self.fields] or None,
            "item": _without_name(self.item.to_dict()) if self.item is not None else None,
            "collection": self.collection,
            "multiple": self.multiple or None,
            "types": [str(kind) for kind in self.types] or None,
            "hint": self.hint,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "integer": self.integer or None,
            "pattern": self.pattern,
            "pattern_hint": self.pattern_hint,
            "date_format": self.date_format,
            "variants": [inner.to_dict() for inner in self.variants] or None,
            "variant_key": self.variant_key,
            "value_field": self.value_field,
            "title_field": self.title_field,
            "accepts_single": self.accepts_single or None,
            "translated": self.translated or None,
            "media_folder": self.media_folder,
            "public_folder": self.public_folder,
        }
        return values | {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class EntryTemplate:
    """The path of a new entry below the folder, with placeholders such as `{{slug}}`, its values and its text.

    `slug` is the form of the placeholder `{{slug}}`.
    """

    path: str
    values: dict[str, object] = field(default_factory=dict)
    body: str = ""
    slug: SlugForm = SlugForm.UNICODE

    def to_dict(self) -> dict[str, object]:
        """Return the form of responses and of `.galley.yml`."""
        slug = {"slug": str(self.slug)} if self.slug is not SlugForm.UNICODE else {}
        return {"path": self.path, **slug, "values": self.values, "body": self.body}


@dataclass(frozen=True)
class CollectionFilter:
    """The values of a field by which the entries of several collections in one folder are distinguished."""

    field: str
    values: tuple[object, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the form of responses and of `.galley.yml`."""
        return {"field": self.field, "values": list(self.values)}

    def permits(self, values: Mapping[str, object]) -> bool:
        """Return whether the front matter of a file has one of the values."""
        value = values.get(self.field)
        own = value if isinstance(value, list) else [value]
        return any(filter_value in own for filter_value in self.values)


@dataclass(frozen=True)
class Collection:
    """Files of a folder (empty: the root) whose path below it matches a pattern, with their fields.

    `exclude` lists names of files that are no entries. `locales` are the folders below the folder, or the ends of the
    file names, of translations: the one of complete entries first. A `media_folder` that starts with `./` is relative
    to the folder of the entry; `public_folder` is its address. `draft` is the field that marks drafts if the schema
    names it; responses do not contain it.

    `translation_of` is the folder of the originals if all entries are translations, and `language` the language of the
    entries if the configuration of the site names it. `original` is the name of the collection of the default language,
    if a locale has its own. Responses do not contain them.

    `group` and `group_label` name the collection of files to which a single file belongs. `can_create` and `can_delete`
    are what the configuration permits; a file that cannot be deleted is not moved. `has_body`: pages have a text below
    their front matter, and `requires_body`: it is not empty. Responses do not contain them.
    """

    name: str
    folder: str
    pattern: str
    fields: tuple[SchemaField, ...] = ()
    label: str | None = None
    template: EntryTemplate | None = None
    exclude: tuple[str, ...] = ()
    filter: CollectionFilter | None = None
    locales: tuple[str, ...] = ()
    media_folder: str | None = None
    public_folder: str | None = None
    draft: DraftField | None = None
    language: str = ""
    translation_of: str | None = None
    original: str = ""
    group: str = ""
    group_label: str | None = None
    can_create: bool = True
    can_delete: bool = True
    has_body: bool = True
    requires_body: bool = False

    def draft_field(self, values: Mapping[str, object] = MappingProxyType({})) -> DraftField | None:
        """Return the field that marks drafts: that of the schema, else one that the entries or these values have."""
        types = {field.name: field.type for field in self.fields}
        if self.draft is not None:
            return self.draft
        known = (field for field in DRAFT_FIELDS if types.get(field.name) is FieldType.BOOLEAN)
        return next(known, None) or draft_field_of(values)

    def to_dict(self) -> dict[str, object]:
        """Return the form of responses and of `.galley.yml`."""
        return {
            "name": self.name,
            **({"label": self.label} if self.label is not None else {}),
            "folder": self.folder,
            "pattern": self.pattern,
            **({"template": self.template.to_dict()} if self.template is not None else {}),
            **({"exclude": list(self.exclude)} if self.exclude else {}),
            **({"filter": self.filter.to_dict()} if self.filter is not None else {}),
            **({"locales": list(self.locales)} if self.locales else {}),
            **({"media_folder": self.media_folder} if self.media_folder is not None else {}),
            **({"public_folder": self.public_folder} if self.public_folder is not None else {}),
            "fields": [inner.to_dict() for inner in self.fields],
        }


@dataclass(frozen=True)
class SchemaProblem:
    """A fault in a schema file: the file, a JSON pointer into it and a message for the person who edits it."""

    path: str | None
    pointer: str
    message: str


@dataclass(frozen=True)
class ContentSchema:
    """The collections of a branch, with the source that describes them and its problems."""

    kind: SourceKind
    path: str | None
    collections: tuple[Collection, ...] = ()
    problems: tuple[SchemaProblem, ...] = ()

    @property
    def is_declared(self) -> bool:
        """Return whether a file describes the collections."""
        return self.kind not in (SourceKind.INFERRED, SourceKind.ARCHETYPES)

    def to_dict(self) -> dict[str, object]:
        """Return the form of responses."""
        return {
            "source": {"kind": str(self.kind), "path": self.path},
            "collections": [collection.to_dict() for collection in self.collections],
            "problems": [vars(problem) for problem in self.problems],
        }


TOML_START = "+++\n+++\n\n"
"""The start of the text of a new entry whose front matter is TOML."""


def text_start(form: str | None) -> str:
    """Return the start of the text of a new entry for the option `format` of a collection."""
    return TOML_START if form == "toml-frontmatter" else ""


def with_defaults(
    collection: Collection, path: str, body: str = "", *, slug: SlugForm = SlugForm.UNICODE
) -> Collection:
    """Return the collection with a template of the default values of its fields."""
    values = {inner.name: inner.default for inner in collection.fields if inner.default is not None}
    if collection.filter is not None:
        values |= {collection.filter.field: collection.filter.values[0]}
    return replace(collection, template=EntryTemplate(path, values, body, slug))


def _without_name(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name != "name" or value}
