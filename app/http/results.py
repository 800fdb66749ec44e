"""Results of views, and the response that each one becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flask import Response, request

from app.http import envelope
from app.http.loading import instance

if TYPE_CHECKING:
    from app.http.endpoint import Declaration


@dataclass(frozen=True)
class PageResult:
    """A page of a list; `meta` is rendered next to `result`."""

    items: Any
    meta: dict[str, Any]


@dataclass(frozen=True)
class ViewResult:
    """A result with headers, or with a status or message that depends on the effect (201 created, 200 replaced)."""

    value: Any
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str | None = None


def render(declared: "Declaration", value: Any) -> Response:
    """Serialize the result of a view with its declared schema, and put it in the envelope."""
    if declared.raw_response:
        response: Response = value
        return response
    outcome = value if isinstance(value, ViewResult) else ViewResult(value)
    value, meta = outcome.value, None
    if isinstance(value, PageResult):
        value, meta = value.items, value.meta
    if declared.result is not None:
        value = instance(declared.result, many=declared.many).dump(value)
    status = outcome.status or declared.status
    if declared.without_envelope:
        return envelope.json_response(value, status)
    response = envelope.success(request, value, outcome.message or declared.message, status=status, meta=meta)
    response.headers.update(outcome.headers)
    return response
