"""Headers of requests and responses in the document."""

from collections.abc import Iterable

from app.http.blueprint import Header
from app.http.endpoint import SAFE, Endpoint

IDEMPOTENCY_KEY = Header(
    "Idempotency-Key",
    "A key of your choice. A repetition with the same key and body within 24 hours has no second effect and returns "
    "the first response.",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
)
IF_MATCH = Header(
    "If-Match",
    "The `ETag` of the object that you read. The change fails with 412 if the object is newer.",
    {"type": "string"},
)
IF_NONE_MATCH = Header(
    "If-None-Match",
    "The `ETag` of your copy. The response is 304 without a body if it is still current.",
    {"type": "string"},
)
SENT_REQUEST_ID = Header(
    "X-Request-Id",
    "An id for the logs: 8 to 64 letters, digits, `.`, `_` and `-`. The response repeats it.",
    {"type": "string"},
)
REQUEST_ID = Header("X-Request-Id", "The id of the request in the logs.", {"type": "string"})
ETAG = Header("ETag", "The version of the response, for `If-None-Match` and `If-Match`.", {"type": "string"})
RETRY_AFTER = Header("Retry-After", "Seconds until a repetition can succeed.", {"type": "integer", "minimum": 1})
REPLAYED = Header(
    "Idempotency-Replayed",
    "`true` if this is the stored response to an earlier request with the same `Idempotency-Key`.",
    {"type": "string", "const": "true"},
)
LOCATION = Header("Location", "The page that follows.", {"type": "string"})


def component_name(header: Header) -> str:
    """Return the component name of a header."""
    return header.name.replace("-", "")


def response_components(endpoints: Iterable[Endpoint]) -> dict[str, dict[str, object]]:
    """Return the response headers by component name."""
    declared = (header for endpoint in endpoints for header in endpoint.response_headers)
    listed = (REQUEST_ID, ETAG, RETRY_AFTER, REPLAYED, *declared, LOCATION)
    return {component_name(header): {"description": header.description, "schema": header.schema} for header in listed}


def request_components(endpoints: Iterable[Endpoint]) -> dict[str, dict[str, object]]:
    """Return the request headers by component name."""
    declared = (header for endpoint in endpoints for header in endpoint.request_headers)
    return {
        component_name(header): {
            "in": "header",
            "name": header.name,
            "required": False,
            "description": header.description,
            "schema": header.schema,
        }
        for header in (IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, *declared, SENT_REQUEST_ID)
    }


def request_headers(method: str, declared: Endpoint) -> list[Header]:
    """Return the headers that an operation reads."""
    if declared.guard.bare:
        return []
    headers = [IF_NONE_MATCH] if method in SAFE and declared.redirect is None else []
    if method not in SAFE and not declared.guard.public:
        headers.append(IDEMPOTENCY_KEY)
    if declared.etag_of is not None:
        headers.append(IF_MATCH)
    return [*headers, *declared.request_headers, SENT_REQUEST_ID]


def success_headers(method: str, declared: Endpoint, *, is_stream: bool) -> dict[str, object]:
    """Return the headers of a successful response."""
    headers = [REQUEST_ID]
    if method in SAFE and not is_stream:
        headers.append(ETAG)
    if method not in SAFE and not declared.guard.public and not is_stream:
        headers.append(REPLAYED)
    return references(*headers, *declared.response_headers)


def references(*headers: Header) -> dict[str, object]:
    """Return references to response headers."""
    return {header.name: {"$ref": f"#/components/headers/{component_name(header)}"} for header in headers}
