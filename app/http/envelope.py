"""The envelope of every JSON response (contract, section 0)."""

import orjson
from flask import Flask, Request, Response, current_app

from app.core.errors import AppError
from app.http.blueprint import overview

API, HANDLERS = "/api/v1/", "/api/"


def is_flat(app: Flask, path: str) -> bool:
    """Return True if the keys of `result` are repeated at the top level: below some prefixes and for the handlers."""
    return path.startswith(overview(app).flat_prefixes) or (path.startswith(HANDLERS) and not path.startswith(API))


def success(
    request: Request, result: object, message: str, *, status: int = 200, meta: dict[str, object] | None = None
) -> Response:
    """Return `{statusCode, success, message, result}`, and `meta` for paginated lists."""
    content: dict[str, object] = {"statusCode": status, "success": True, "message": message, "result": result}
    if meta is not None:
        content["meta"] = meta
    if is_flat(current_app, request.path) and isinstance(result, dict):
        content = result | content
    return json_response(content, status)


def failure(request: Request, error: AppError) -> Response:
    """Return `{statusCode, success, message, errorMessage, code}`, and `result` if the caller needs it to continue."""
    content: dict[str, object] = {
        "statusCode": error.status,
        "success": False,
        "message": error.message,
        "errorMessage": [{"path": item.path, "message": item.message} for item in error.fields],
        "code": error.code,
    }
    if error.result is not None:
        content["result"] = dict(error.result)
    if is_flat(current_app, request.path):
        content["error"] = error.message
    response = json_response(content, error.status)
    response.headers.extend(error.headers)
    return response


def json_response(content: object, status: int = 200) -> Response:
    """Return a JSON response, serialized by orjson."""
    return Response(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS), status, mimetype="application/json")
