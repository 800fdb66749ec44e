"""Query, body and response schemas of content schemas."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import fields, validate

from app.content.schema.model import FieldType, SourceKind
from app.content.slugs import SlugForm
from app.http.json_schema import OPTIONAL, branch_name, full_sha
from app.http.validation import PassthroughSchema, RequestBody, text

SCALARS = ["string", "number", "boolean"]


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
    values = fields.Dict(required=True, keys=fields.String(), values=fields.Raw(allow_none=True))
    body = fields.String(required=True)


class CollectionSchema(PassthroughSchema):
    """The files of a folder whose path below it matches the pattern."""

    name = fields.String(required=True, metadata={"example": "posts"})
    label = fields.String(metadata=OPTIONAL)
    folder = fields.String(required=True, metadata={"example": "content/posts"})
    pattern = fields.String(required=True, metadata={"example": "**/*.md"})
    template = fields.Nested(EntryTemplateSchema, metadata=OPTIONAL)
    fields_ = fields.List(fields.Nested(SchemaFieldSchema), data_key="fields", required=True)


class SchemaProblemSchema(PassthroughSchema):
    """A fault in a schema file. `pointer` is a JSON pointer into the file."""

    path = fields.String(required=True, allow_none=True)
    pointer = fields.String(required=True, metadata={"example": "/collections/0/fields/1/type"})
    message = fields.String(required=True)


class ContentSchemaSchema(PassthroughSchema):
    """The collections of a branch with their source and its problems."""

    source = fields.Nested(SchemaSourceSchema, required=True)
    collections = fields.List(fields.Nested(CollectionSchema), required=True)
    problems = fields.List(fields.Nested(SchemaProblemSchema), required=True)


@dataclass(frozen=True, kw_only=True)
class AdoptSchemaBody(RequestBody):
    """The branch on which the schema is committed, the commit it starts from and the message. All are optional."""

    branch: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=branch_name)]
    base_sha: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=full_sha)]
    message: Annotated[str | None, text(1, 2_000, required=False, load_default=None, allow_none=True)]
