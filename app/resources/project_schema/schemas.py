"""Query, body and response schemas of content schemas."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import fields, validate

from app.content.schema.model import FieldType, SourceKind
from app.content.slugs import SlugForm
from app.http.json_schema import OPTIONAL, branch_name, full_sha
from app.http.validation import PassthroughSchema, RequestBody, text

SCALARS = ["string", "number", "boolean"]
LIMITED = "number, characters of a text or items of a list"
MEDIA_FOLDER = "The folder of images. It starts with `./` if it is relative to the entry"


class SchemaSourceSchema(PassthroughSchema):
    """The origin of a schema. `path` is null if the schema is inferred from the files of the branch."""

    kind = fields.String(required=True, validate=validate.OneOf(list(map(str, SourceKind))))
    path = fields.String(required=True, allow_none=True, metadata={"example": ".galley.yml"})


class ItemFieldSchema(PassthroughSchema):
    """The field of each item of a list. It has no name. Absent properties are not sent."""

    type = fields.String(required=True, validate=validate.OneOf(list(map(str, FieldType))))
    label = fields.String(metadata=OPTIONAL)
    required = fields.Boolean(metadata=OPTIONAL)
    default = fields.Raw(metadata=OPTIONAL | {"description": "A value of the type"})
    options = fields.List(
        fields.Raw(metadata={"type": SCALARS}), metadata=OPTIONAL | {"description": "The values of a select"}
    )
    fields_ = fields.List(
        fields.Nested(lambda: SchemaFieldSchema()),
        data_key="fields",
        metadata=OPTIONAL | {"description": "Fields of an object"},
    )
    item = fields.Nested(
        lambda: ItemFieldSchema(), metadata=OPTIONAL | {"description": "The field of each item of a list"}
    )
    collection = fields.String(metadata=OPTIONAL | {"description": "The collection of a relation"})
    multiple = fields.Boolean(metadata=OPTIONAL | {"description": "A select or relation is a list"})
    types = fields.List(fields.String(), metadata=OPTIONAL | {"description": "The types of a mixed field"})
    hint = fields.String(metadata=OPTIONAL | {"description": "Help for the person who fills in the field"})
    minimum = fields.Float(metadata=OPTIONAL | {"description": f"The least {LIMITED}"})
    maximum = fields.Float(metadata=OPTIONAL | {"description": f"The greatest {LIMITED}"})
    integer = fields.Boolean(metadata=OPTIONAL | {"description": "A number has no fraction"})
    pattern = fields.String(metadata=OPTIONAL | {"description": "A regular expression that a text matches"})
    pattern_hint = fields.String(metadata=OPTIONAL | {"description": "The form that the pattern requires, in words"})
    date_format = fields.String(
        metadata=OPTIONAL | {"description": "The format of a date with letters of Unicode", "example": "dd.MM.yyyy"}
    )
    variants = fields.List(
        fields.Nested(lambda: SchemaFieldSchema()),
        metadata=OPTIONAL | {"description": "Variants of an object. The fields of one are added to its fields"},
    )
    variant_key = fields.String(
        metadata=OPTIONAL | {"description": "The key with the name of the variant of an object"}
    )
    value_field = fields.String(metadata=OPTIONAL | {"description": "The field whose value a relation stores"})
    title_field = fields.String(metadata=OPTIONAL | {"description": "The field that names the entry of a relation"})
    accepts_single = fields.Boolean(metadata=OPTIONAL | {"description": "A list of one item may be the item"})
    translated = fields.Boolean(metadata=OPTIONAL | {"description": "Each translation of an entry has a value"})
    media_folder = fields.String(metadata=OPTIONAL | {"description": MEDIA_FOLDER})
    public_folder = fields.String(metadata=OPTIONAL | {"description": "The address of the media folder"})


class SchemaFieldSchema(ItemFieldSchema):
    """A field of the front matter. Absent properties are not sent."""

    name = fields.String(required=True, metadata={"example": "title"})


class EntryTemplateSchema(PassthroughSchema):
    """A new entry: its path below the folder with placeholders such as `{{slug}}`, its values and its text."""

    path = fields.String(required=True, metadata={"example": "{{year}}-{{month}}-{{day}}-{{slug}}.md"})
    slug = fields.String(
        validate=validate.OneOf(list(SlugForm)),
        metadata=OPTIONAL | {"description": "letters of `{{slug}}`, if they are not those of the title"},
    )
    values = fields.Dict(
        required=True,
        keys=fields.String(),
        values=fields.Raw(allow_none=True),
        metadata={"description": "The values of the front matter by field, with the same placeholders as the path"},
    )
    body = fields.String(
        required=True,
        metadata={"description": "The text below the front matter, with the same placeholders as the path"},
    )


class CollectionFilterSchema(PassthroughSchema):
    """The values of a field by which the entries of several collections in one folder are distinguished."""

    field = fields.String(required=True, metadata={"example": "type"})
    values = fields.List(
        fields.Raw(metadata={"type": SCALARS}),
        required=True,
        metadata={"description": "The values of entries of this collection"},
    )


class CollectionSchema(PassthroughSchema):
    """The files of a folder whose path below it matches the pattern."""

    name = fields.String(required=True, metadata={"example": "posts"})
    label = fields.String(metadata=OPTIONAL)
    folder = fields.String(required=True, metadata={"example": "content/posts"})
    pattern = fields.String(required=True, metadata={"example": "**/*.md"})
    template = fields.Nested(EntryTemplateSchema, metadata=OPTIONAL)
    exclude_ = fields.List(
        fields.String(),
        data_key="exclude",
        metadata=OPTIONAL | {"description": "Names of files that are no entries"},
    )
    filter = fields.Nested(CollectionFilterSchema, metadata=OPTIONAL)
    locales = fields.List(
        fields.String(),
        metadata=OPTIONAL
        | {"description": "Folders, or ends of file names, of translations. The first is that of complete entries"},
    )
    media_folder = fields.String(metadata=OPTIONAL | {"description": MEDIA_FOLDER})
    public_folder = fields.String(metadata=OPTIONAL | {"description": "The address of the media folder"})
    fields_ = fields.List(
        fields.Nested(SchemaFieldSchema),
        data_key="fields",
        required=True,
        metadata={"description": "In the order of the form"},
    )


class SchemaProblemSchema(PassthroughSchema):
    """A fault in a schema file. `pointer` is a JSON pointer into the file."""

    path = fields.String(required=True, allow_none=True)
    pointer = fields.String(required=True, metadata={"example": "/collections/0/fields/1/type"})
    message = fields.String(required=True)


class ContentSchemaSchema(PassthroughSchema):
    """The collections of a branch with their source and its problems."""

    source = fields.Nested(SchemaSourceSchema, required=True)
    collections = fields.List(
        fields.Nested(CollectionSchema), required=True, metadata={"description": "In the order of the source"}
    )
    problems = fields.List(
        fields.Nested(SchemaProblemSchema),
        required=True,
        metadata={"description": "The faults of the schema file. Parts without a fault are used"},
    )


@dataclass(frozen=True, kw_only=True)
class AdoptSchemaBody(RequestBody):
    """The branch on which the schema is committed, the commit it starts from and the message. All are optional."""

    branch: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=branch_name)]
    base_sha: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=full_sha)]
    message: Annotated[str | None, text(1, 2_000, required=False, load_default=None, allow_none=True)]
