"""The OpenAPI 3.1 document and its browsable page, generated from the declarations that serve the routes."""

import re
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Blueprint, Flask, Response, current_app
from flask_swagger_ui.flask_swagger_ui import get_swaggerui_blueprint
from marshmallow import Schema, fields

from app.http import envelope
from app.http.endpoint import SAFE, Declaration, declaration_of
from app.http.validation import Flag, Moment

DOCUMENT_URL, PAGE_URL = "/api/v1/openapi.json", "/api/v1/docs"
_PARAMETER = re.compile(r"<(?:[^:>]+:)?([^>]+)>")


class FieldProblem(Schema):
    """One faulty field."""

    path = fields.String(required=True)
    message = fields.String(required=True)


class Failure(Schema):
    """The error envelope."""

    statusCode = fields.Integer(required=True)  # noqa: N815 (wire name)
    success = fields.Boolean(required=True)
    message = fields.String(required=True)
    errorMessage = fields.List(fields.Nested(FieldProblem), required=True)  # noqa: N815 (wire name)
    code = fields.String(required=True)
    result = fields.Dict(metadata={"description": "What the caller needs to go on, with some failures"})
    error = fields.String(metadata={"description": "The message again, where the keys of `result` stand at the top"})


def init_app(app: Flask) -> None:
    """Serve the document, and the page from local files."""
    app.add_url_rule(DOCUMENT_URL, "openapi", _serve_document)
    make_page: Any = get_swaggerui_blueprint
    page: Blueprint = make_page(PAGE_URL, DOCUMENT_URL, config={"app_name": "Galley", "validatorUrl": None})
    page.after_request(_let_page_run)
    app.register_blueprint(page)


def _let_page_run(response: Response) -> Response:
    policy = (
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'"
    )
    response.headers["Content-Security-Policy"] = policy
    return response


def _serve_document() -> Response:
    document = current_app.extensions.setdefault("openapi", None) or build(current_app)
    current_app.extensions["openapi"] = document
    return envelope.json_response(document)


def build(app: Flask) -> dict[str, Any]:
    """The document of every declared route of the application."""
    plugin: Any = MarshmallowPlugin(schema_name_resolver=_schema_name)
    spec = APISpec("Galley", "1", "3.1.0", plugins=[plugin], info={"license": {"name": "MIT", "identifier": "MIT"}})
    plugin.map_to_openapi_type(Moment, "string", "date-time")
    plugin.map_to_openapi_type(Flag, "boolean", None)
    plugin.converter.add_attribute_function(_told_choices)
    name = app.config["SETTINGS"].server.base_url
    cookie = "__Host-session_token" if name.startswith("https:") else "session_token"
    spec.components.security_scheme("session", {"type": "apiKey", "in": "cookie", "name": cookie})
    spec.components.schema("Failure", schema=Failure)
    for rule in app.url_map.iter_rules():
        declared = declaration_of(app.view_functions[rule.endpoint])
        if declared is not None:
            _add(spec, str(rule), rule.methods or set(), rule.endpoint, declared, app)
    document: dict[str, Any] = spec.to_dict()
    return document


def _told_choices(_converter: Any, field: Any, **_kwargs: Any) -> dict[str, Any]:
    """The choices that a field's metadata tell: of an enumeration a body may not take every member."""
    return {"enum": field.metadata["enum"]} if "enum" in field.metadata else {}


def _schema_name(schema: Any) -> str:
    kind = schema if isinstance(schema, type) else type(schema)
    return f"{kind.__module__.split('.')[-2]}_{kind.__name__}"


def _add(spec: APISpec, rule: str, methods: set[str], name: str, declared: Declaration, app: Flask) -> None:
    operations = {
        method.lower(): _operation(method, rule, name, declared, app)
        for method in sorted(methods - {"HEAD", "OPTIONS"})
    }
    spec.path(path=_PARAMETER.sub(r"{\1}", rule), operations=operations)


def _operation(method: str, rule: str, name: str, declared: Declaration, app: Flask) -> dict[str, Any]:
    view: Any = app.view_functions[name]
    operation: dict[str, Any] = {
        "operationId": f"{method.lower()}_{re.sub('[^a-z0-9]+', '_', rule.lower()).strip('_')}",
        "summary": (view.__doc__ or declared.message).strip().split("\n")[0],
        "description": f"Guard: {declared.guard.words}",
        "tags": [name.split(".")[0]],
        "security": [{}] if declared.guard.public else [{"session": []}],
        "parameters": _parameters(rule, declared),
        "responses": _responses(method, declared),
    }
    taken = declared.body or declared.sent
    if method not in SAFE and taken is not None:
        content = "multipart/form-data" if declared.form else "application/json"
        operation["requestBody"] = {"required": True, "content": {content: {"schema": taken}}}
    return operation


def _parameters(rule: str, declared: Declaration) -> list[Any]:
    found: list[Any] = [
        {"in": "path", "name": name, "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(rule)
    ]
    if declared.query is not None:
        found.append({"in": "query", "schema": declared.query})
    return found


def _responses(method: str, declared: Declaration) -> dict[str, Any]:
    failure = {"description": "Failure", "content": {"application/json": {"schema": "Failure"}}}
    others: dict[str, Any] = {"4XX": failure, "5XX": failure}
    if method in SAFE:
        others["3XX"] = {"description": "Not modified, or to be found elsewhere"}
    if declared.raw:
        return {"2XX": {"description": declared.message}, **others}
    result: Any = {}
    if declared.result is not None:
        result = {"type": "array", "items": declared.result} if declared.many else declared.result
        listed = getattr(declared.result, "LISTED", None)
        if listed is not None:
            result = {"anyOf": [declared.result, {"type": "array", "items": listed}]}
    shown = {
        "type": "object",
        "required": ["statusCode", "success", "message", "result"],
        "properties": {
            "statusCode": {"type": "integer"},
            "success": {"type": "boolean"},
            "message": {"type": "string"},
            "result": result,
        },
    }
    good = {"description": declared.message, "content": {"application/json": {"schema": shown}}}
    statuses = filter(None, (declared.status, declared.other_status))
    return {**{str(status): good for status in statuses}, **others}
