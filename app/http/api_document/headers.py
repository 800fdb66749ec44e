"""Headers of requests and responses in the document."""

from typing import Any

from app.http.endpoint import SAFE, Endpoint

REQUEST_HEADERS: dict[str, dict[str, Any]] = {
    "Idempotency-Key": {
        "description": "A key of your choice. A repetition with the same key and body within 24 hours has no second "
        "effect and returns the first response.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    },
    "If-Match": {
        "description": "The `ETag` of the object that you read. The change fails with 412 if the object is newer.",
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "description": "The `ETag` of your copy. The response is 304 without a body if it is still current.",
        "schema": {"type": "string"},
    },
    "X-AI-Key": {
        "description": "Your key of the AI provider. It is used for this request only. Without it the key of the "
        "operator is used, within your daily budget.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,512}$", "maxLength": 512},
    },
    "X-AI-Provider": {
        "description": "The AI provider of the key. The default is the provider of the operator.",
        "schema": {"type": "string", "enum": ["openai", "anthropic", "gemini", "xai"]},
    },
    "X-AI-Model": {
        "description": "The model of the provider.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._:/-]{1,80}$", "maxLength": 80},
    },
    "X-Request-Id": {
        "description": "An id for the logs: 8 to 64 letters, digits, `.`, `_` and `-`. The response repeats it.",
        "schema": {"type": "string"},
    },
}

RESPONSE_HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {"description": "The id of the request in the logs.", "schema": {"type": "string"}},
    "ETag": {
        "description": "The version of the response, for `If-None-Match` and `If-Match`.",
        "schema": {"type": "string"},
    },
    "Retry-After": {
        "description": "Seconds until a repetition can succeed.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "Idempotency-Replayed": {
        "description": "`true` if this is the stored response to an earlier request with the same `Idempotency-Key`.",
        "schema": {"type": "string", "const": "true"},
    },
    "Link": {
        "description": 'URLs of the image at smaller widths, with `rel="alternate"`.',
        "schema": {"type": "string"},
    },
    "Location": {"description": "The page that follows.", "schema": {"type": "string"}},
}


def component_name(header: str) -> str:
    """Return the component name of a header."""
    return header.replace("-", "")


def response_components() -> dict[str, dict[str, Any]]:
    """Return the response headers by component name."""
    return {component_name(name): header for name, header in RESPONSE_HEADERS.items()}


def request_components() -> dict[str, dict[str, Any]]:
    """Return the request headers by component name."""
    return {
        component_name(name): {"in": "header", "name": name, "required": False, **header}
        for name, header in REQUEST_HEADERS.items()
    }


def request_headers(method: str, declared: Endpoint) -> list[str]:
    """Return the names of the headers that an operation reads."""
    if declared.guard.bare:
        return []
    names = ["If-None-Match"] if method in SAFE and declared.redirect is None else []
    if method not in SAFE and not declared.guard.public:
        names.append("Idempotency-Key")
    if declared.etag_of is not None:
        names.append("If-Match")
    if declared.rate in ("ai", "ai_copilot"):
        names += ["X-AI-Key", "X-AI-Provider", "X-AI-Model"]
    return [*names, "X-Request-Id"]


def success_headers(method: str, declared: Endpoint, *, is_stream: bool) -> dict[str, Any]:
    """Return the headers of a successful response."""
    names = ["X-Request-Id"]
    if method in SAFE and not is_stream:
        names.append("ETag")
    if method not in SAFE and not declared.guard.public and not is_stream:
        names.append("Idempotency-Replayed")
    return references([*names, *declared.response_headers])


def references(names: list[str]) -> dict[str, Any]:
    """Return references to response headers."""
    return {name: {"$ref": f"#/components/headers/{component_name(name)}"} for name in names}
