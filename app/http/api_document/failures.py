"""Schemas of the error envelope."""

from marshmallow import Schema, fields

from app.http.json_schema import OPTIONAL, SHA


class FieldErrorSchema(Schema):
    """One faulty field. `path` is dotted, for example `files.0.path`."""

    path = fields.String(required=True)
    message = fields.String(required=True)


class InvalidValueSchema(Schema):
    """A value of the front matter that does not match the schema of its collection."""

    file = fields.String()
    pointer = fields.String(metadata={"description": "JSON pointer into the front matter"})
    message = fields.String()


class OwnedOrganizationSchema(Schema):
    """An organization whose owner must transfer or delete it."""

    org_id = fields.String()
    org_name = fields.String()


class FailureDataSchema(Schema):
    """The data that the caller needs to continue.

    A refused save has `head_sha` and `paths`, or `invalid`. An unknown branch has `branches`. A refused deletion
    of an account has `organizations`. A failed start of a preview has the other fields.
    """

    head_sha = fields.String(metadata=OPTIONAL | SHA | {"description": "The present commit of the branch"})
    paths = fields.List(fields.String(), metadata=OPTIONAL | {"description": "The paths that have changed"})
    branches = fields.List(fields.String(), metadata=OPTIONAL | {"description": "The branches of the repository"})
    invalid = fields.List(fields.Nested(InvalidValueSchema), metadata=OPTIONAL)
    organizations = fields.List(fields.Nested(OwnedOrganizationSchema), metadata=OPTIONAL)
    code = fields.String(metadata=OPTIONAL, allow_none=True)
    message = fields.String(metadata=OPTIONAL, allow_none=True)
    step = fields.String(metadata=OPTIONAL, allow_none=True)
    hint = fields.String(metadata=OPTIONAL, allow_none=True)
    log_tail = fields.String(metadata=OPTIONAL | {"description": "The end of the log"})
    log_url = fields.String(
        metadata=OPTIONAL | {"description": "A page with the complete log, for the caller and for five minutes"}
    )


class FailureSchema(Schema):
    """The error envelope. Programs compare `code`. People read `message`."""

    statusCode = fields.Integer(required=True)  # noqa: N815 (wire name)
    success = fields.Boolean(required=True, metadata={"const": False})
    message = fields.String(required=True)
    errorMessage = fields.List(fields.Nested(FieldErrorSchema), required=True)  # noqa: N815 (wire name)
    code = fields.String(required=True, metadata={"pattern": "^[A-Z][A-Z0-9_]+$"})
    result = fields.Nested(FailureDataSchema, metadata=OPTIONAL)
    error = fields.String(
        metadata={
            "description": "The message again, if the keys of `result` are repeated at the top level",
            "x_optional": True,
        }
    )
