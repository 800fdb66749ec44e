"""Actions: what a caller may run, with its guard, rates, effect outside the database, transaction and late record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Literal, TypeVar, overload

import structlog
from flask import Response, current_app, g, request
from sqlalchemy.exc import DBAPIError

from app.access import authentication
from app.access.guards import Guard
from app.access.scope import Scope
from app.core.errors import Archived, NotFound, PreconditionFailed
from app.core.outbound import LateRecord, UnrecordedAct
from app.database import transactions
from app.database.errors import DatabaseError, is_deadlock
from app.drivers.errors import DriverError
from app.http import caching, late_records, rate_limits
from app.http.error_handlers import to_app_error
from app.http.loading import load_query
from app.http.results import render

T = TypeVar("T")
Ids = Mapping[str, str]

DEADLOCK_RETRIES = 3

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class DeclaredAction:
    """A function with what it needs to run for a caller.

    A declaration without `view` is the common part of a route and of a page: `@endpoint(**vars(declared), ...)` and
    `run(view, ids, declared)`.

    Attributes:
        guard: resolves the ids and checks the permission.
        view: the function. It runs in the transaction, and receives the keyword `scope`.
        upstream: runs before the transaction, with the same arguments as the view: calls of other systems, hashing. The
            view receives its result as `prepared`.
        outside: the view itself runs before the transaction, as `upstream` does. Its result is the response, or an
            `UnrecordedAct`, whose `record` runs in the transaction and returns the response.
        allow_archived: the action also changes archived targets.
        etag_of: the GET endpoint whose response `If-Match` refers to. The target is locked.
        rate: a row of the rate-limit table.
        recent: the user of a session must have proved the identity a short time ago. API tokens are not affected.
    """

    guard: Guard
    view: Callable[..., Any] | None = None
    upstream: Callable[..., object] | None = None
    outside: bool = False
    allow_archived: bool = False
    etag_of: str | None = None
    rate: str | None = None
    recent: bool = False


class ActionSteps:
    """One run of an action in the application context of a request.

    Subclasses replace the public steps.
    """

    declared: DeclaredAction
    is_read = False
    is_retry = False
    """True if an earlier attempt ended without a result, and may have had an effect outside."""

    def __init__(self, declared: DeclaredAction, ids: Ids) -> None:
        if declared.view is None:
            raise TypeError("the declaration decorates no view")
        self.declared, self.view, self.ids = declared, declared.view, dict(ids)
        self._is_committing = False

    def call(self) -> Any:
        """Run the action as the caller of the present request. Raises its errors."""
        if self.declared.rate is not None:
            rate_limits.check_address(self.declared.rate)
            rate_limits.check_caller(self.declared.rate, authentication.caller())
        self.declared.guard.authenticate()
        try:
            with rate_limits.cancelled_on_failure():
                return self.work()
        except BaseException:
            transactions.rollback()
            raise

    @property
    def is_locked(self) -> bool:
        """True if the guard resolves the target before its lock and again under it."""
        return not self.is_read and not self._is_upstream and self.declared.etag_of is not None

    @property
    def _is_upstream(self) -> bool:
        """True if a part of the action runs before the transaction."""
        return self.declared.upstream is not None or self.declared.outside

    def work(self) -> Any:
        """Resolve the target, run the view and return what `conclude` makes of its result."""
        if self.is_read:
            arguments = self._permitted_arguments()
            return self.conclude(self._run_view(arguments, self.run_upstream(arguments)))
        if not self._is_upstream:
            return _transact(self._write)
        arguments = self._permitted_arguments()
        scope: Scope = arguments["scope"]
        self._check_archived(scope)
        self.check_precondition(scope)
        rate_limits.record_before_upstream(self.declared.rate, authentication.caller())
        arguments["scope"] = replace(scope, is_retry=self.is_retry)
        prepared = self.run_upstream(arguments)
        try:
            return _transact(lambda: self._finish(arguments, prepared))
        except BaseException as error:
            late = self._late_record(prepared["prepared"], error)
            if late is not None:
                stored = self.conclude(late.result)  # Not the returned response, which is compressed later.
                late_records.store(late, lambda: self.store(stored))
                return self.conclude(late.result)
            _close_unsent(prepared, error, is_known=not self._is_committing)
            raise

    def _permitted_arguments(self) -> dict[str, Any]:
        """Return the arguments of the view, if the proof of the identity is recent enough."""
        arguments = self.arguments()
        if self.declared.recent:
            authentication.check_recent(authentication.session())
        return arguments

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the view."""
        return {"scope": self.declared.guard.resolve(self.ids, is_read=self.is_read)}

    def check_precondition(self, scope: Scope) -> None:
        """Compare `If-Match` with the tag of the present object. Only the comparison under the lock is final."""
        header = request.headers.get("If-Match")
        if header is None or self.declared.etag_of is None:
            return
        current: Any = current_app.view_functions[self.declared.etag_of]
        schema = current.endpoint.query_schema
        query = {} if schema is None else {"query": load_query(schema, request)}
        try:
            response = render(current.endpoint, current.endpoint.view(scope=scope, **query))
        except NotFound as error:
            raise PreconditionFailed from error
        if not caching.etag_matches(header, caching.compute_etag(response.get_data())):
            raise PreconditionFailed

    def conclude(self, value: object) -> Any:
        """Return the result of the run for the result of the view."""
        return value

    def store(self, result: Any) -> None:
        """Store the result in the transaction, for a repetition."""

    def _late_record(self, value: object, error: BaseException) -> LateRecord[Any] | None:
        """Return how an effect is recorded whose transaction failed. None if it was refused, or had no effect.

        An error of the database is no refusal: another request has changed a row, or the database has failed.
        """
        if not isinstance(error, Exception):
            return None
        if not isinstance(error, DatabaseError) and to_app_error(error).status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return None
        transactions.rollback()
        late: LateRecord[Any] | None = None
        if isinstance(value, UnrecordedAct):
            late = value.late
        elif self.declared.outside and not isinstance(value, Response):
            late = LateRecord(value)  # Only the response of the request is missing.
        log.warning("request.not_recorded", error=type(error).__name__, is_recorded_later=late is not None)
        return late

    def _write(self) -> object:
        """Run the transaction of an action without `upstream`. The permission check is part of it."""
        transactions.begin_write()
        arguments = self._permitted_arguments()
        if self.is_locked:
            arguments["scope"] = self.declared.guard.resolve_locked(arguments["scope"])
        self._check_archived(arguments["scope"])
        self.check_precondition(arguments["scope"])
        rate_limits.record(self.declared.rate, authentication.caller())
        return self._commit(self.view(**arguments))

    def _finish(self, arguments: dict[str, Any], prepared: dict[str, object]) -> object:
        """Run the transaction of an action after `upstream`.

        Other requests may have changed the target in the meantime.
        """
        transactions.begin_write()
        if self.declared.etag_of is not None:
            arguments["scope"] = self.declared.guard.resolve_locked(arguments["scope"])
            self.check_precondition(arguments["scope"])
        return self._commit(self._run_view(arguments, prepared))

    def _commit(self, value: object) -> object:
        result = self.conclude(value)
        self.store(result)
        self._is_committing = True
        transactions.commit()
        return result

    def run_upstream(self, arguments: dict[str, object]) -> dict[str, object]:
        """Run the part of the action before the transaction, without a connection of the database."""
        if not self._is_upstream:
            return {}
        try:
            with transactions.outside_transaction():
                prepared = (self.declared.upstream or self.view)(**arguments)
        except DriverError:
            self._note_effect()
            raise
        self._note_effect()
        return {"prepared": prepared}

    def _note_effect(self) -> None:
        """Mark a request after which another system may be changed, for the log. It follows `upstream`."""
        if not self.is_read:
            g.may_have_effect = True

    def _run_view(self, arguments: dict[str, object], prepared: dict[str, object]) -> object:
        if not self.declared.outside:
            return self.view(**arguments, **prepared)
        value = prepared["prepared"]
        return value.record() if isinstance(value, UnrecordedAct) else value

    def _check_archived(self, scope: Scope) -> None:
        if not self.declared.allow_archived and self.declared.guard.is_archived(scope):
            raise Archived


@overload
def run(
    view: Callable[..., UnrecordedAct[T]], ids: Ids, *, guard: Guard, outside: Literal[True], rate: str | None = None
) -> T: ...
@overload
def run(view: Callable[..., T], ids: Ids, *, guard: Guard, rate: str | None = None) -> T: ...
@overload
def run(view: Callable[..., Any], ids: Ids, declared: DeclaredAction) -> Any: ...
def run(view: Callable[..., Any], ids: Ids, declared: DeclaredAction | None = None, **more: Any) -> Any:
    """Run an action that has no URL as the caller of the present request, and return its result.

    It has the guard, the rates and the transaction of a request; its events and jobs belong to the transaction. The
    keywords are those of `DeclaredAction`, for an action that no route declares. Raises the errors of the guard and of
    the functions.
    """
    action = replace(declared, view=view) if declared is not None else DeclaredAction(view=view, **more)
    return ActionSteps(action, ids).call()


def _close_unsent(prepared: dict[str, object], error: BaseException, *, is_known: bool) -> None:
    """Release what `upstream` built, such as a running call of a model or a repository on disk."""
    built = prepared.get("prepared")
    if isinstance(built, Response):
        built.close()
    elif isinstance(built, UnrecordedAct) and built.resource and isinstance(error, Exception) and is_known:
        transactions.rollback()
        with transactions.outside_transaction():
            built.resource.discard()


def _transact(run_once: Callable[[], T]) -> T:
    """Run a transaction. Repeat it if PostgreSQL ended it to resolve a deadlock: it had no effect."""
    for _ in range(DEADLOCK_RETRIES):
        try:
            return run_once()
        except DBAPIError as error:
            if not is_deadlock(error):
                raise
            transactions.rollback()
    return run_once()
