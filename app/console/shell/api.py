"""Calls of declared API routes in the same process.

A page has the guards, schemas, rates and transactions of the API.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import orjson
from flask import Response
from marshmallow import Schema, ValidationError
from werkzeug.datastructures import MultiDict

from app.access import authentication
from app.access.guards import Guard
from app.core.errors import InvalidRequest
from app.database import transactions
from app.http import rate_limits
from app.http.endpoint import declaration_of
from app.http.loading import field_errors, instance
from app.http.request_steps import RequestSteps

View = Callable[..., Response]


class ApiCall(RequestSteps):
    """One call of a declared route with plain values instead of a body and a query string."""

    def __init__(self, view: View, ids: Mapping[str, str], *, method: str, data: dict[str, Any], query: Any) -> None:
        declared = declaration_of(view)
        if declared is None:
            raise TypeError(f"{view} is not an endpoint")
        super().__init__(declared, view.view, dict(ids))  # type: ignore[attr-defined]
        self.method, self.is_read = method, method == "GET"
        self.data, self._query_values = data, query

    def run(self) -> Response:
        """Run the steps after the body was read. Return to READING, also after a failure."""
        if self.declared.rate is not None:
            rate_limits.check_address(self.declared.rate)
            rate_limits.check_caller(self.declared.rate, authentication.caller())
        self.declared.guard.authenticate()
        with ExitStack() as failure:
            failure.callback(transactions.start_reading)
            failure.callback(transactions.rollback)
            response = self._count_and_work()
            failure.pop_all()
        transactions.start_reading()
        return response

    def _load_query(self, schema: type[Schema]) -> Any:
        loader = instance(schema)
        values = MultiDict((name, str(value)) for name, value in self._query_values.items() if value is not None)
        listed = {name for name, field in loader.load_fields.items() if getattr(field, "is_multiple", False)}
        try:
            return loader.load({name: values.getlist(name) if name in listed else values[name] for name in values})
        except ValidationError as error:
            raise InvalidRequest(fields=field_errors(error)) from error


def read(view: View, ids: Mapping[str, str] | None = None, **query: object) -> Any:
    """Return the result of a GET route. Raises the errors of the route."""
    return read_page(view, ids, **query)[0]


def read_page(view: View, ids: Mapping[str, str] | None = None, **query: object) -> tuple[Any, dict[str, Any]]:
    """Return the result and the `meta` of a GET route."""
    response = ApiCall(view, ids or {}, method="GET", data={}, query=query).run()
    return _result(response)


def write(
    view: View,
    ids: Mapping[str, str] | None = None,
    data: dict[str, Any] | None = None,
    *,
    method: str = "POST",
    query: Mapping[str, object] | None = None,
) -> Any:
    """Run a changing route in its own transaction and return its result. Raises the errors of the route."""
    transactions.release_connection()
    return _result(ApiCall(view, ids or {}, method=method, data=data or {}, query=query or {}).run())[0]


def _result(response: Response) -> tuple[Any, dict[str, Any]]:
    content = orjson.loads(response.get_data())
    if not isinstance(content, dict) or "success" not in content or "result" not in content:
        return content, {}
    return content["result"], content.get("meta") or {}


def guard_of(view: View) -> Guard:
    """Return the guard of a declared route, for a page that shows or calls it."""
    declared = declaration_of(view)
    if declared is None:
        raise TypeError(f"{view} is not an endpoint")
    return declared.guard
