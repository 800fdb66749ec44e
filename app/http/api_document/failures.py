"""Schemas of the error envelope."""

from marshmallow import Schema, fields

from app.http.json_schema import OPTIONAL


class FieldErrorSchema(Schema):
    """One faulty field. `path` is dotted, for example `files.0.path`."""

    path = fields.String(required=True)
    message = fields.String(required=True)


class FailureSchema(Schema):
    """The error envelope. Programs compare `code`. People read `message`."""

    COMPONENT = "Failure"

    statusCode = fields.Integer(required=True)  # noqa: N815 (wire name)
    success = fields.Boolean(required=True, metadata={"const": False})
    message = fields.String(required=True)
    errorMessage = fields.List(fields.Nested(FieldErrorSchema), required=True)  # noqa: N815 (wire name)
    code = fields.String(required=True, metadata={"pattern": "^[A-Z][A-Z0-9_]+$"})
    result = fields.Dict(metadata=OPTIONAL)
    error = fields.String(
        metadata={
            "description": "The message again, if the keys of `result` are repeated at the top level",
            "x_optional": True,
        }
    )


def failure_schema(data: type[Schema]) -> type[Schema]:
    """Return the schema of the error envelope with the schema of its `result`."""
    members = {"__doc__": FailureSchema.__doc__, "result": fields.Nested(data, metadata=OPTIONAL)}
    return type(FailureSchema.__name__, (FailureSchema,), members)
