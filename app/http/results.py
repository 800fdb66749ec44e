"""Results of views, and the response that each one becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
from flask import Response, request

from app.http import envelope
from app.http.loading import instance

if TYPE_CHECKING:
    from app.http.endpoint import Endpoint


@dataclass(frozen=True)
class PageResult:
    """A page of a list; `meta` is rendered next to `result`."""

    items: object
    meta: dict[str, Any]


@dataclass(frozen=True)
class ViewResult:
    """A result with headers, or with a status or message that depends on the effect (201 created, 200 replaced)."""

    value: object
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str | None = None


@dataclass(frozen=True)
class CallResult:
    """The serialized result of a call in this process, and the `meta` of a page."""

    value: object
    meta: Mapping[str, object] = field(default_factory=dict)


def dump(declared: "Endpoint", value: Any) -> CallResult:
    """Serialize the result of a view with its declared schema."""
    if declared.raw_response:
        return CallResult(orjson.loads(value.get_data()))
    value, meta = value.value if isinstance(value, ViewResult) else value, {}
    if isinstance(value, PageResult):
        value, meta = value.items, value.meta
    if declared.result is not None:
        value = instance(declared.result, many=declared.many).dump(value)
    return CallResult(value, meta)


def render(declared: "Endpoint", value: Any) -> Response:
    """Return the response with the serialized result of a view in the envelope."""
    if declared.raw_response:
        response: Response = value
        return response
    outcome, result = value if isinstance(value, ViewResult) else ViewResult(value), dump(declared, value)
    status, is_page = outcome.status or declared.status, isinstance(outcome.value, PageResult)
    if declared.without_envelope:
        return envelope.json_response(result.value, status)
    message, meta = outcome.message or declared.message, dict(result.meta) if is_page else None
    response = envelope.success(request, result.value, message, status=status, meta=meta)
    response.headers.update(outcome.headers)
    return response
