"""Calls of API routes in the same process. A page has the guards, schemas, rates and transactions of the API."""

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response

from app.http.endpoint import endpoint_of

View = Callable[..., Response]


def read(view: View, ids: Mapping[str, str] | None = None, **query: object) -> Any:
    """Return the result of a GET route. Raises the errors of the route."""
    return endpoint_of(view).call(ids or {}, query=query).value


def read_page(view: View, ids: Mapping[str, str] | None = None, **query: object) -> tuple[Any, Mapping[str, object]]:
    """Return the result and the `meta` of a GET route."""
    result = endpoint_of(view).call(ids or {}, query=query)
    return result.value, result.meta


def write(
    view: View,
    ids: Mapping[str, str] | None = None,
    data: Mapping[str, object] | None = None,
    *,
    method: str = "POST",
    query: Mapping[str, object] | None = None,
) -> Any:
    """Run a changing route in its own transaction and return its result. Raises the errors of the route."""
    return endpoint_of(view).call(ids or {}, method=method, body=data, query=query).value
