"""One operation of the document from the declaration of its route."""

import inspect
import re

from werkzeug.routing import Rule

from app.http.api_document import headers, prose
from app.http.api_document.components import clean
from app.http.api_document.responses import responses
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import SAFE, Endpoint
from app.http.json_schema import id_keywords

_VARIABLE = re.compile(r"<(?:[^:>]+:)?([^>]+)>")
_VERBS = {"details": "get", "read": "get", "show": "get"}
"""Verbs of operation ids in the place of the first word of a view."""


def path_of(rule: str) -> str:
    """Return the path of a URL rule: `/<id>` as `/{id}`."""
    return _VARIABLE.sub(r"{\1}", rule)


def shape_of(path: str) -> str:
    """Return a path with anonymous variables. Paths of the same shape are one path of the document."""
    return re.sub(r"\{[^}]+\}", "{}", path)


def merged_paths(rules: list[str]) -> dict[str, str]:
    """Return the path of the document for each URL rule.

    Rules of one shape whose variables have different names share a path with the variable `id`.
    """
    by_shape: dict[str, set[str]] = {}
    for rule in rules:
        by_shape.setdefault(shape_of(path_of(rule)), set()).add(path_of(rule))
    return {
        rule: path_of(rule) if len(by_shape[shape]) == 1 else shape.replace("{}", "{id}")
        for rule in rules
        for shape in [shape_of(path_of(rule))]
    }


def operation_id(declared: Endpoint, tag: ApiBlueprint, *, is_alias: bool) -> str:
    """Return the id of an operation: the verb of the view, the noun of the blueprint and the rest of the view's name.

    An alias has the id of the main operation and `Alias`.
    """
    name = declared.operation_id or _operation_id(declared.view.__name__ if declared.view else "", tag.noun)
    return f"{name}Alias" if is_alias else name


def _operation_id(view: str, noun: str) -> str:
    verb, *objects = view.split("_")
    if verb == "list" and objects in (["all"], ["own"]):
        noun, objects = f"{noun}s", []
    return _VERBS.get(verb, verb) + "".join(part.capitalize() for part in (*noun.split(), *objects))


def operation(
    method: str, rule: Rule, path: str, declared: Endpoint, tag: ApiBlueprint, *, is_flat: bool, is_alias: bool
) -> dict[str, object]:
    """Return the operation of a method and a URL rule."""
    view = declared.view
    summary, _, details = inspect.cleandoc((view and view.__doc__) or declared.message).partition("\n\n")
    content: dict[str, object] = {
        "operationId": operation_id(declared, tag, is_alias=is_alias),
        "summary": clean(summary).rstrip("."),
        "description": _description(clean(summary), clean(details), declared),
        "tags": [tag.name],
        "security": _security(method, declared),
        "parameters": _parameters(method, str(rule), path, declared, tag),
        "responses": responses(method, path, declared, is_flat=is_flat),
        "x-guard": declared.guard.spec_name,
    }
    body = declared.body_schema or declared.documented_body
    if method not in SAFE and body is not None:
        media_type = "multipart/form-data" if declared.form else "application/json"
        content["requestBody"] = {"required": True, "content": {media_type: {"schema": body}}}
    return content


def _security(method: str, declared: Endpoint) -> list[dict[str, list[str]]]:
    """Return the alternatives: a session, or a token with one of the scopes."""
    if declared.guard.public:
        return []
    scopes = declared.guard.token.needed(is_read=method in SAFE)
    return [{"session": []}, *({"token": [str(scope)]} for scope in sorted(scopes))]


def _description(summary: str, details: str, declared: Endpoint) -> str:
    parts = [f"{summary.rstrip('.')}.", details, prose.permission_text(declared.guard)]
    parts.append(prose.rate_text(declared))
    return " ".join(filter(None, parts))


def _parameters(method: str, rule: str, path: str, declared: Endpoint, tag: ApiBlueprint) -> list[object]:
    names = zip(_VARIABLE.findall(rule), re.findall(r"\{([^}]+)\}", path), strict=True)
    parameters: list[object] = [_path_parameter(name, shown, declared, tag) for name, shown in names]
    if declared.query_schema is not None:
        parameters.append({"in": "query", "schema": declared.query_schema})
    return parameters + [headers.component_name(header) for header in headers.request_headers(method, declared)]


def _path_parameter(name: str, shown: str, declared: Endpoint, tag: ApiBlueprint) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string", "minLength": 1}
    text = tag.parameters.get(name) or prose.PARAMETERS.get(name, "")
    kind = declared.guard.find.ids.get(name)
    if kind is not None:
        schema, text = schema | id_keywords(kind.prefix), f"The id of {kind.noun}."
    elif name in tag.patterns:
        schema["pattern"] = tag.patterns[name]
    return {"in": "path", "name": shown, "required": True, "description": text, "schema": schema}
