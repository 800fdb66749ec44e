"""`@endpoint`: a route, declared once for its requests, the OpenAPI document and the authorization matrix."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from flask import Response
from marshmallow import Schema

from app.access.guards import Guard
from app.core.errors import NotFound
from app.core.limits import InputLimits
from app.http import body as bodies
from app.http import rate_limits
from app.http.actions import DeclaredAction
from app.http.blueprint import Header
from app.http.request_steps import RequestSteps
from app.http.results import PageResult, ViewResult
from app.http.validation import RequestBody, RequestQuery

UPSTREAM = ("UPSTREAM_BROKEN", "UPSTREAM_LATE", "UPSTREAM_THROTTLED")
"""Failures of an external service."""

GIT_READ = (
    *UPSTREAM,
    *(
        "NEEDS_RECONNECT",
        "REPO_UNAVAILABLE",
        "REPOSITORY_DAMAGED",
        "PROVIDER_NOT_CONFIGURED",
        "DISCONNECTED",
        "TOO_LARGE",
    ),
)
"""Failures of a read from a repository."""

GIT_WRITE = (*GIT_READ, "BRANCH_PROTECTED", "INVALID_BRANCH", "REFUSED", "CONFLICT")
"""Failures of a write to a repository."""

SAVE = (*GIT_WRITE, "BRANCH_BUSY", "CHANGE_SET_REQUIRED", "INVALID_MESSAGE", "INVALID_PATH", "INVALID_CHANGE")
"""Failures of a commit."""

MERGED_SAVE = ("BASE_REQUIRED", "BASE_GONE", *SAVE)
"""Failures of a commit that may merge."""


__all__ = ["SAFE", "Endpoint", "PageResult", "ViewResult", "endpoint", "endpoint_of", "find_endpoint"]

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, kw_only=True)
class Endpoint(DeclaredAction):
    """A route: its declaration and its view. The declaration decorates the view.

    The view takes the keyword-only parameters `scope` and, if declared, `body`, `query` and `prepared`.

    Attributes:
        body, query: classes of the loaded values. A body may also be a schema.
        result: schema; `many` if the result is a list.
        meta: schema of `meta` in a page whose `meta` has more keys than the cursor.
        documented_body: schema of a body that `upstream` reads after it has identified the sender.
        other_status: a second status that a `ViewResult` may have.
        form: the body is a multipart form.
        raw_response: the view returns a complete response. `result`, `events` and `media_type` document it.
        events: schemas of the events of a stream. `events_note` is a sentence about them.
        media_type: media type of a response that is not JSON.
        redirect: description of the page to which the route redirects.
        request_headers, response_headers: headers of requests and successes in addition to those of every route.
        errors: codes of the service (`error_codes.toml`). Write `403 CODE` if the code has several statuses.
        without_envelope: send the result alone, as the clients of better-auth read it (contract, section 0).
        operation_id: the id in the OpenAPI document, if the name of the view makes a bad one.
        secret_fields: fields of the result that are sent once and never stored for a replay.
        is_page: the response is a page of the console, which the OpenAPI document does not contain.
        steps: the class that processes the requests.
    """

    steps: ClassVar[type[RequestSteps]] = RequestSteps

    message: str = "OK"
    body: type[Schema] | type[RequestBody] | None = None
    documented_body: type[Schema] | None = None
    query: type[RequestQuery] | None = None
    result: type[Schema] | None = None
    many: bool = False
    meta: type[Schema] | None = None
    status: int = 200
    other_status: int | None = None
    max_bytes: int = bodies.DEFAULT_BYTES
    any_type: bool = False
    form: bool = False
    raw_response: bool = False
    events: tuple[type[Schema], ...] | None = None
    events_note: str = ""
    media_type: str | None = None
    redirect: str | None = None
    request_headers: tuple[Header, ...] = ()
    response_headers: tuple[Header, ...] = ()
    errors: tuple[str, ...] = ()
    without_envelope: bool = False
    operation_id: str | None = None
    secret_fields: tuple[str, ...] = ()
    is_page: bool = False

    def __post_init__(self) -> None:
        """Check the declaration at import time.

        Raises:
            ValueError: the rate-limit table has no such row.
        """
        if self.rate is not None and not rate_limits.is_row(self.rate):
            raise ValueError(f"the rate-limit table has no row {self.rate}")

    def __call__(self, view: Callable[..., object]) -> Callable[..., Response]:
        """Return the Flask view function.

        Raises:
            TypeError: the parameters of the view differ from the declaration.
        """
        _check_parameters(view, self.arguments)
        for function in (view, self.upstream):
            if function is not None:
                _check_scope(function, self.guard)
        declared = replace(self, view=view)

        @functools.wraps(view)
        def respond(**ids: str) -> Response:
            if any(len(value) > InputLimits.path_bytes for value in ids.values()):
                raise NotFound
            # PostgreSQL refuses to compare U+0000. No id contains the replacement character either.
            storable = {name: value.replace("\0", "\ufffd") for name, value in ids.items()}
            return self.steps(declared, storable).run()

        respond.endpoint = declared  # type: ignore[attr-defined]
        return respond

    @property
    def body_schema(self) -> type[Schema] | None:
        body = self.body
        return body.schema if body is not None and issubclass(body, RequestBody) else body

    @property
    def query_schema(self) -> type[Schema] | None:
        return self.query.schema if self.query is not None else None

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments of the view."""
        optional = {"body": self.body, "query": self.query, "prepared": self.upstream}
        return ("scope", *(name for name, value in optional.items() if value is not None))


endpoint = Endpoint


def endpoint_of(view: Callable[..., object]) -> Endpoint:
    """Return the endpoint of a view function. Raises TypeError for another function."""
    declared = find_endpoint(view)
    if declared is None:
        raise TypeError(f"{view} is not an endpoint")
    return declared


def find_endpoint(view: Callable[..., object]) -> Endpoint | None:
    """Return the endpoint of a view function, or None for another function."""
    declared: Endpoint | None = getattr(view, "endpoint", None)
    return declared


def _check_parameters(view: Callable[..., object], expected: tuple[str, ...]) -> None:
    parameters = inspect.signature(view).parameters
    is_keyword_only = all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters.values())
    if not is_keyword_only or set(parameters) != set(expected):
        raise TypeError(f"{view.__qualname__} must take the keyword-only parameters {', '.join(expected)}")


def _check_scope(function: Callable[..., object], guard: Guard) -> None:
    parameter = inspect.signature(function).parameters["scope"]
    if not issubclass(guard.find.scope, parameter.annotation):
        raise TypeError(f"the guard of {function.__qualname__} returns a {guard.find.scope.__name__}")
