"""Responses of an operation: successes with their schemas, and failures with their codes."""

from http import HTTPStatus
from typing import Any

from marshmallow import Schema, fields

from app.http.api_document.error_codes import codes_by_status
from app.http.api_document.headers import ETAG, LOCATION, REQUEST_ID, RETRY_AFTER, references, success_headers
from app.http.api_document.prose import FIELDS
from app.http.endpoint import SAFE, Endpoint
from app.http.json_schema import OPTIONAL

JSON, EVENTS, OCTETS = "application/json", "text/event-stream", "application/octet-stream"
BYTES: dict[str, object] = {"type": "string", "format": "binary"}
TEXT: dict[str, object] = {"type": "string"}
META: dict[str, object] = {
    "type": "object",
    "description": "The position in the list.",
    "required": ["next_cursor"],
    "properties": {
        "next_cursor": {"type": ["string", "null"], "description": FIELDS["next_cursor"]},
        "total": {"type": ["integer", "null"], "description": FIELDS["total"]},
    },
}
RETRY_STATUSES = frozenset({429, 502, 503, 504})


class FieldErrorSchema(Schema):
    """One faulty field. `path` is dotted, for example `files.0.path`."""

    path = fields.String(required=True)
    message = fields.String(required=True)


class FailureSchema(Schema):
    """The error envelope. Programs compare `code`. People read `message`."""

    COMPONENT = "Failure"

    statusCode = fields.Integer(required=True)  # noqa: N815 (wire name)
    success = fields.Boolean(required=True)
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


def responses(method: str, path: str, declared: Endpoint, *, is_flat: bool) -> dict[str, Any]:
    """Return all responses of an operation by status. `is_flat` repeats the keys of `result` at the top level."""
    documented = {str(status): _success(method, declared, status, is_flat=is_flat) for status in _statuses(declared)}
    has_etag = declared.redirect is None and declared.status != HTTPStatus.NO_CONTENT
    if method in SAFE and not declared.guard.bare and has_etag:
        documented["304"] = {"description": "Not modified.", "headers": references(REQUEST_ID, ETAG)}
    for status, codes in codes_by_status(method, path, declared).items():
        documented[str(status)] = _failure(status, codes)
    documented["default"] = {
        "description": "Another failure.",
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Failure"}}},
        "headers": references(REQUEST_ID),
    }
    return documented


def _statuses(declared: Endpoint) -> tuple[int, ...]:
    if declared.redirect is not None:
        return (302,)
    return (declared.status, *((declared.other_status,) if declared.other_status is not None else ()))


def _success(method: str, declared: Endpoint, status: int, *, is_flat: bool) -> dict[str, object]:
    if declared.redirect is not None:
        headers = references(REQUEST_ID, LOCATION)
        return {"description": f"{declared.redirect.rstrip('.')}.", "headers": headers}
    if status == HTTPStatus.NO_CONTENT:
        return {"description": f"{declared.message.rstrip('.')}.", "headers": references(REQUEST_ID)}
    content: dict[str, object] = {}
    if declared.events is not None and status != declared.other_status:
        content[EVENTS] = {"schema": _events(declared)}
    if declared.media_type is not None:
        schema = TEXT if declared.media_type.startswith("text/") else BYTES
        # Generated clients ignore a range such as `image/*`. They read `application/octet-stream`.
        names = (OCTETS, declared.media_type) if "*" in declared.media_type else (declared.media_type,)
        content |= {name: {"schema": dict(schema)} for name in names}
    if declared.result is not None or not content:
        content[JSON] = {"schema": _json(declared, status, is_flat=is_flat)}
    is_stream = declared.events is not None and declared.result is None
    return {
        "description": f"{declared.message.rstrip('.')}.",
        "content": content,
        "headers": success_headers(method, declared, is_stream=is_stream),
    }


def _events(declared: Endpoint) -> object:
    kinds = declared.events or ()
    if len(kinds) == 1:
        return kinds[0]
    return {"description": f"The `data` of one event. {declared.events_note}".rstrip(), "oneOf": list(kinds)}


def _json(declared: Endpoint, status: int, *, is_flat: bool) -> object:
    result: object = {}
    if declared.result is not None:
        result = {"type": "array", "items": declared.result} if declared.many else declared.result
        listed = getattr(declared.result, "LISTED", None)
        if listed is not None:
            result = {"anyOf": [declared.result, {"type": "array", "items": listed}]}
    if declared.without_envelope:
        return result
    shown: dict[str, Any] = {
        "type": "object",
        "required": ["statusCode", "success", "message", "result"],
        "properties": {
            "statusCode": {"type": "integer", "enum": [status], "description": FIELDS["statusCode"]},
            "success": {"type": "boolean", "description": FIELDS["success"]},
            "message": {"type": "string", "description": FIELDS["message"]},
            "result": result,
        },
    }
    if _has_meta(declared):
        shown["properties"]["meta"] = declared.meta or dict(META)
        shown["required"] += ["meta"] if declared.many else []
    if is_flat and declared.result is not None and not declared.many:
        shown["x-flat"] = True
    return shown


def _has_meta(declared: Endpoint) -> bool:
    """Return whether a page has `meta` next to its result. Some results contain it."""
    is_paged = declared.query_schema is not None and "cursor" in declared.query_schema().load_fields
    fields = {} if declared.result is None else declared.result().fields
    return declared.meta is not None or (is_paged and "meta" not in fields)


def add_flat_keys(document: dict[str, Any]) -> None:
    """Repeat the properties of `result` at the top level where the response does."""
    schemas = document["components"]["schemas"]
    for path in document["paths"].values():
        for operation in path.values():
            for response in operation["responses"].values():
                schema = response.get("content", {}).get(JSON, {}).get("schema", {})
                if schema.pop("x-flat", False):
                    _add_keys(schema, schemas)


def _add_keys(schema: dict[str, Any], schemas: dict[str, Any]) -> None:
    result = schemas[schema["properties"]["result"]["$ref"].rpartition("/")[2]]
    for name, field in result["properties"].items():
        schema["properties"].setdefault(name, field)
    schema["required"] = sorted({*schema["required"], *result.get("required", ())})


def _failure(status: int, codes: list[str]) -> dict[str, object]:
    listed = ", ".join(f"`{code}`" for code in codes)
    return {
        "description": f"{HTTPStatus(status).phrase}: {listed}.",
        "content": {
            JSON: {
                "schema": {"$ref": "#/components/schemas/Failure"},
                "examples": {code: {"$ref": f"#/components/examples/{code}"} for code in codes},
            }
        },
        "headers": references(REQUEST_ID, *((RETRY_AFTER,) if status in RETRY_STATUSES else ())),
        "x-error-codes": codes,
    }
