"""`@endpoint`: what a route needs, said as data. It feeds the route, the OpenAPI document and the authorization matrix.

The order of checks is the contract's (section 0): size, type, syntax, session, target, guard, body.
"""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask import Response, current_app, request
from marshmallow import Schema

from app import transactions
from app.core.errors import Archived, NotFound, PreconditionFailed
from app.http import body as bodies
from app.http import caching, configuration, envelope, idempotency, login, rate_limits, uploads
from app.http.guards import Guard
from app.http.scope import Scope
from app.http.validation import instance, load, load_query

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Paged:
    """A view's answer for a list that paginates; `meta` goes beside `result`."""

    items: Any
    meta: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """A view's answer whose status depends on what happened (201 for made, 200 for replaced), or that has headers."""

    value: Any
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Declaration:
    """All that is declared of one route."""

    guard: Guard
    message: str
    body: type[Schema] | None = None
    sent: type[Schema] | None = None
    query: type[Schema] | None = None
    result: type[Schema] | None = None
    many: bool = False
    status: int = 200
    other_status: int | None = None
    prepare: Callable[..., Any] | None = None
    max_bytes: int = bodies.DEFAULT_BYTES
    any_type: bool = False
    form: bool = False
    archived_too: bool = False
    current: str | None = None
    raw: bool = False
    rate: str | None = None
    shortcut: Callable[[Mapping[str, str]], Response | None] | None = None


def endpoint(
    *,
    guard: Guard,
    message: str = "OK",
    body: type[Schema] | None = None,
    sent: type[Schema] | None = None,
    query: type[Schema] | None = None,
    result: type[Schema] | None = None,
    many: bool = False,
    status: int = 200,
    other_status: int | None = None,
    prepare: Callable[..., Any] | None = None,
    max_bytes: int = bodies.DEFAULT_BYTES,
    any_type: bool = False,
    form: bool = False,
    archived_too: bool = False,
    current: str | None = None,
    raw: bool = False,
    rate: str | None = None,
    shortcut: Callable[[Mapping[str, str]], Response | None] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
    """Declare a view: it receives its scope, then what is declared of body, query and preparation, in that order.

    `prepare` runs before the one transaction, on a session that only reads: whatever talks to the outside world or
    takes long belongs there; the view gets its outcome last. `current` names the GET endpoint whose answer `If-Match`
    speaks of. `other_status` is what an `Outcome` may say instead of `status`. `raw` views answer a finished response.
    `sent` describes for the OpenAPI document a body that `prepare` reads by itself, once it knows who sent it. `form`
    reads a multipart form instead of JSON. `rate` names a row of the rate-limit table. `shortcut` may answer a read
    before the guard is asked: only what the guard would have let through, or nothing.
    """
    if rate is not None and not rate_limits.is_row(rate):
        raise ValueError(f"the rate-limit table has no row {rate}")
    declared = Declaration(
        guard, message, body, sent, query, result, many, status, other_status, prepare, max_bytes, any_type, form,
        archived_too, current, raw, rate, shortcut,
    )  # fmt: skip

    def decorate(view: Callable[..., Any]) -> Callable[..., Response]:
        @functools.wraps(view)
        def call(**ids: str) -> Response:
            return _serve(declared, view, {name: _storable(value) for name, value in ids.items()})

        call.declaration = declared  # type: ignore[attr-defined]
        call.view = view  # type: ignore[attr-defined]
        return call

    return decorate


def declaration_of(view: Callable[..., Any]) -> Declaration | None:
    """What was declared of a view function, if it is an endpoint's."""
    found: Declaration | None = getattr(view, "declaration", None)
    return found


def _storable(value: str) -> str:
    """No id holds U+0000, and PostgreSQL would not even compare it: what stands in its place is nobody's id either."""
    return value.replace("\0", "\ufffd")


def _serve(declared: Declaration, view: Callable[..., Any], ids: dict[str, str]) -> Response:
    time.sleep(0)  # lets keep-alive neighbours of this worker in between
    if declared.guard.bare:
        return _answer(declared, view(declared.guard.resolve(ids)))
    rate_limits.check_address(declared.rate)
    quick = declared.shortcut(ids) if declared.shortcut is not None else None
    if quick is not None:
        return quick
    given = {} if request.method in SAFE else _read(declared)
    transactions.start_reading()
    caller = login.caller()
    rate_limits.check_caller(declared.rate, caller)
    declared.guard.authenticate()
    if caller is not None:
        login.note_seen(caller)
    claim = idempotency.claim_for(request, caller.id if caller else None)

    def work() -> Response:
        return _work(declared, view, ids, given, claim)

    return idempotency.run(claim, work)


def _work(
    declared: Declaration,
    view: Callable[..., Any],
    ids: dict[str, str],
    given: dict[str, Any],
    claim: idempotency.Claim | None,
) -> Response:
    writes = request.method not in SAFE
    if writes:
        login.attach()
    if writes and declared.prepare is None:
        transactions.start_writing()
    scope, arguments = _resolve(declared, ids, given)
    if writes:
        _check_state(declared, scope)
    if declared.prepare is not None:
        arguments = [*arguments, declared.prepare(scope, *arguments)]
        if writes:
            transactions.start_writing(read_anew=True)
    response = _answer(declared, view(scope, *arguments))
    if claim is not None:
        claim.keep(response)
    if writes:
        transactions.commit()
    return response


def _read(declared: Declaration) -> dict[str, Any]:
    if declared.form:
        return uploads.read_form(request, configuration.settings().limits.input)
    return bodies.read_json(request, max_bytes=declared.max_bytes, any_type=declared.any_type)


def _resolve(declared: Declaration, ids: dict[str, str], given: dict[str, Any]) -> tuple[Scope, list[Any]]:
    """Target and guard before the body, unless the body names the target."""
    if declared.guard.ids_in_body and declared.body is not None:
        clean = load(declared.body, given)
        scope = declared.guard.resolve(ids | clean)
    else:
        scope = declared.guard.resolve(ids)
        clean = load(declared.body, given) if declared.body is not None else {}
    arguments: list[Any] = [clean] if declared.body is not None else []
    if declared.query is not None:
        arguments.append(load_query(declared.query, request))
    return scope, arguments


def _check_state(declared: Declaration, scope: Scope) -> None:
    if not declared.archived_too and declared.guard.is_archived(scope):
        raise Archived
    header = request.headers.get("If-Match")
    if header is None or declared.current is None:
        return
    current: Any = current_app.view_functions[declared.current]
    asked = current.declaration.query
    query = [] if asked is None else [load_query(asked, request)]
    try:
        answer = _answer(current.declaration, current.view(scope, *query))
    except NotFound as error:
        raise PreconditionFailed from error
    if not caching.names(header, caching.tag_of(answer.get_data())):
        raise PreconditionFailed


def _answer(declared: Declaration, value: Any) -> Response:
    if declared.raw:
        response: Response = value
        return response
    outcome = value if isinstance(value, Outcome) else Outcome(value)
    value, meta = outcome.value, None
    if isinstance(value, Paged):
        value, meta = value.items, value.meta
    if declared.result is not None:
        value = instance(declared.result, many=declared.many).dump(value)
    status = outcome.status or declared.status
    response = envelope.success(request, value, declared.message, status=status, meta=meta)
    response.headers.update(outcome.headers)
    return response
