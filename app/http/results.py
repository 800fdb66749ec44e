"""Results of views, and the response that each one becomes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from flask import Response, request

from app.core.cursors import decode_position, encode_position
from app.http import envelope
from app.http.loading import instance
from app.http.validation import ListQuery

if TYPE_CHECKING:
    from app.http.endpoint import Endpoint

Item = TypeVar("Item")


@dataclass(frozen=True)
class PageResult:
    """A page of a list; `meta` is rendered next to `result`."""

    items: object
    meta: dict[str, Any]


def page_of(
    items: Sequence[Item], query: ListQuery, *, kind: str, key: Callable[[Item], str], is_complete: bool = True
) -> PageResult:
    """Return a page of a list that is in memory, or the whole list without `limit` and `cursor`.

    The cursor names the last item of the previous page, and its number for the case that it was removed. `total` is
    null if the list may not be complete.
    """
    start = 0 if query.cursor is None else _start_of_page(items, query.cursor, kind, key)
    end = len(items) if query.limit is None else start + query.limit
    next_cursor = encode_position(kind, end, key(items[end - 1])) if end < len(items) else None
    meta = {"next_cursor": next_cursor, "total": len(items) if is_complete else None}
    return PageResult(list(items[start:end]), meta)


def _start_of_page(items: Sequence[Item], cursor: str, kind: str, key: Callable[[Item], str]) -> int:
    number, last = decode_position(cursor, kind)
    positions = (index for index, item in enumerate(items, 1) if key(item) == last)
    return next(positions, max(0, number - 1))


@dataclass(frozen=True)
class ViewResult:
    """A result with headers, or with a status or message that depends on the effect (201 created, 200 replaced)."""

    value: object
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str | None = None


def render(declared: "Endpoint", value: Any) -> Response:
    """Return the response with the result of a view, serialized with its declared schema, in the envelope."""
    if declared.raw_response:
        response: Response = value
        return response
    outcome = value if isinstance(value, ViewResult) else ViewResult(value)
    result, status, meta = outcome.value, outcome.status or declared.status, None
    if isinstance(outcome.value, PageResult):
        result, meta = outcome.value.items, outcome.value.meta
    if declared.result is not None:
        result = instance(declared.result, many=declared.many).dump(result)
    if declared.without_envelope:
        return envelope.json_response(result, status)
    response = envelope.success(request, result, outcome.message or declared.message, status=status, meta=meta)
    response.headers.update(outcome.headers)
    return response
