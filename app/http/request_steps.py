"""The steps of a request (architecture, section 5). Their order is the contract's (section 0)."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from flask import Response, current_app, request
from marshmallow import Schema, ValidationError
from sqlalchemy.exc import DBAPIError
from werkzeug.datastructures import MultiDict

from app.access import authentication
from app.access.scope import Scope
from app.core.errors import AppError, Archived, InvalidRequest, NotFound, PreconditionFailed
from app.core.outbound import OutsideResource
from app.database import transactions
from app.database.errors import is_deadlock
from app.drivers.errors import DriverError
from app.extensions import current_settings
from app.http import body as bodies
from app.http import body_admission, caching, idempotency, rate_limits, uploads
from app.http.loading import field_errors, instance, load, load_query
from app.http.results import CallResult, dump, render
from app.http.validation import RequestBody

if TYPE_CHECKING:
    from app.http.endpoint import Endpoint

T = TypeVar("T")

DEADLOCK_RETRIES = 3


class RequestSteps:
    """One request of an endpoint.

    Subclasses replace the public steps: `read_body`, `query`, `work` and `conclude`.
    """

    def __init__(self, declared: "Endpoint", ids: Mapping[str, str], *, method: str | None = None) -> None:
        if declared.view is None:
            raise TypeError("the endpoint decorates no view")
        self.declared, self.view, self.ids = declared, declared.view, dict(ids)
        self.method = method or request.method
        self.is_read = self.method in ("GET", "HEAD", "OPTIONS")
        self.data: dict[str, object] = {}
        self.claim: idempotency.IdempotencyClaim | None = None
        self._joined: Sequence[object] | None = None
        """The values of the target that were read with the session, for the first resolution only."""

    def run(self) -> Response:
        """Check rate, body and session, then do the work once for its idempotency key."""
        time.sleep(0)  # yields to other connections of this worker
        declared = self.declared
        if declared.guard.bare:
            return render(declared, self.view(scope=declared.guard.resolve(self.ids)))
        rate_limits.check_address(declared.rate)
        transactions.start_reading()
        joins_target = self.is_read or self._is_locked
        target = declared.guard.with_session(self.ids) if joins_target else None
        caller, self._joined = authentication.caller_with(target)
        rate_limits.check_caller(declared.rate, caller)
        self.data = {} if self.is_read else self.read_body()
        declared.guard.authenticate()
        if caller is not None:
            authentication.update_activity(caller)
        self.claim = idempotency.claim_for(request, caller)
        return idempotency.run(self.claim, self._count_and_work)

    @property
    def _is_locked(self) -> bool:
        """True if the guard resolves the target before its lock and again under it."""
        return not self.is_read and not self._is_upstream and self.declared.etag_of is not None

    @property
    def _is_upstream(self) -> bool:
        """True if a part of the route runs before the transaction."""
        return self.declared.upstream is not None or self.declared.outside

    def _count_and_work(self) -> Response:
        """Do the work. A request that fails does not count in the hourly and daily rates."""
        with rate_limits.cancelled_on_failure():
            response: Response = self.work()
        if response.status_code >= 400:
            rate_limits.cancel_recorded()
        return response

    def work(self) -> Any:
        """Resolve the target, run the view and return what `conclude` makes of its result."""
        if self.is_read:
            arguments = self._resolve()
            return self.conclude(self._run_view(arguments, self._run_upstream(arguments)))
        if not self._is_upstream:
            return _transact(self._write)
        arguments = self._resolve()
        scope: Scope = arguments["scope"]
        self._check_archived(scope)
        self._check_precondition(scope)
        rate_limits.record_before_upstream(self.declared.rate, authentication.caller())
        is_retry = self.claim is not None and self.claim.is_takeover
        arguments["scope"] = replace(scope, is_retry=is_retry)
        prepared = self._run_upstream(arguments)
        try:
            return _transact(lambda: self._finish(arguments, prepared))
        except BaseException as error:
            _close_unsent(prepared, error)
            raise

    def _write(self) -> object:
        """Run the transaction of a route without `upstream`. The permission check is part of it."""
        transactions.begin_write()
        arguments = self._resolve()
        if self._is_locked:
            arguments["scope"] = self.declared.guard.resolve_locked(arguments["scope"])
        self._check_archived(arguments["scope"])
        self._check_precondition(arguments["scope"])
        rate_limits.record(self.declared.rate, authentication.caller())
        return self._commit(self.view(**arguments))

    def _finish(self, arguments: dict[str, Any], prepared: dict[str, object]) -> object:
        """Run the transaction of a route after `upstream`.

        Other requests may have changed the target in the meantime.
        """
        transactions.begin_write()
        if self.declared.etag_of is not None:
            arguments["scope"] = self.declared.guard.resolve_locked(arguments["scope"])
            self._check_precondition(arguments["scope"])
        return self._commit(self._run_view(arguments, prepared))

    def _commit(self, value: object) -> object:
        result = self.conclude(value)
        if self.claim is not None:
            self.claim.store_response(result, hidden=self.declared.secret_fields)
        transactions.commit()
        return result

    def conclude(self, value: object) -> Any:
        """Return the response with the result of the view."""
        return render(self.declared, value)

    def read_body(self) -> dict[str, object]:
        """Read the body. The caller and the rates are known, so a large body is refused before it is read."""
        declared = self.declared
        admission = body_admission.begin_admission(rate_limits.address(), declared.guard.authenticate)
        if declared.form:
            return uploads.read_form(request, current_settings().limits.input, admit=admission.admit)
        return bodies.read_json(
            request, max_bytes=declared.max_bytes, any_type=declared.any_type, admit=admission.admit
        )

    def _resolve(self) -> dict[str, Any]:
        """Return the arguments of the view. The guard runs before the body is checked unless that names the target."""
        declared, arguments = self.declared, dict[str, Any]()
        joined, self._joined = self._joined, None
        if declared.guard.target_in_body and declared.body is not None:
            body = arguments["body"] = self._load_body(declared.body)
            named = self.ids | (body if isinstance(body, dict) else vars(body))
            arguments["scope"] = declared.guard.resolve(named, is_read=self.is_read)
        else:
            arguments["scope"] = declared.guard.resolve(self.ids, is_read=self.is_read, joined=joined)
            if declared.body is not None:
                arguments["body"] = self._load_body(declared.body)
        if "body" in arguments:  # A page of the console has none. Its calls of API routes have one.
            declared.guard.check_body(arguments["scope"], arguments["body"])
        if declared.query_schema is not None:
            arguments["query"] = self.query(declared.query_schema)
        return arguments

    def query(self, schema: type[Schema]) -> object:
        """Return the loaded query string. Raises InvalidRequest."""
        return load_query(schema, request)

    def _load_body(self, body: type[Schema] | type[RequestBody]) -> object:
        schema = body.schema if issubclass(body, RequestBody) else body
        return load(schema, self.data, is_change=self.method in ("PATCH", "PUT"))

    def _run_upstream(self, arguments: dict[str, object]) -> dict[str, object]:
        """Run the part of the route before the transaction, without a connection of the database."""
        if not self._is_upstream:
            return {}
        with transactions.outside_transaction():
            return {"prepared": (self.declared.upstream or self.view)(**arguments)}

    def _run_view(self, arguments: dict[str, object], prepared: dict[str, object]) -> object:
        return prepared["prepared"] if self.declared.outside else self.view(**arguments, **prepared)

    def _check_archived(self, scope: Scope) -> None:
        if not self.declared.allow_archived and self.declared.guard.is_archived(scope):
            raise Archived

    def _check_precondition(self, scope: Scope) -> None:
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


class DirectCall(RequestSteps):
    """One call of an endpoint in this process, with plain values instead of a body and a query string."""

    def __init__(
        self,
        declared: "Endpoint",
        ids: Mapping[str, str],
        *,
        method: str,
        body: Mapping[str, object],
        query: Mapping[str, object],
    ) -> None:
        super().__init__(declared, ids, method=method)
        self.data, self._query_values = dict(body), query

    def run(self) -> Any:
        """Run the steps after the body was read."""
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

    def conclude(self, value: object) -> CallResult:
        """Return the serialized result of the view."""
        return dump(self.declared, value)

    def query(self, schema: type[Schema]) -> object:
        """Return the loaded values of the query. Raises InvalidRequest."""
        loader = instance(schema)
        values = MultiDict((name, str(value)) for name, value in self._query_values.items() if value is not None)
        listed = {name for name, field in loader.load_fields.items() if getattr(field, "is_multiple", False)}
        try:
            return loader.load({name: values.getlist(name) if name in listed else values[name] for name in values})
        except ValidationError as error:
            raise InvalidRequest(fields=field_errors(error)) from error


def _close_unsent(prepared: dict[str, object], error: BaseException) -> None:
    """Release what `upstream` built, such as a running call of a model or a repository on disk."""
    built = prepared.get("prepared")
    if isinstance(built, Response):
        built.close()
    elif isinstance(built, OutsideResource) and isinstance(error, AppError | DriverError):
        built.discard()


def _transact(run: Callable[[], T]) -> T:
    """Run a transaction. Repeat it if PostgreSQL ended it to resolve a deadlock: it had no effect."""
    for _ in range(DEADLOCK_RETRIES):
        try:
            return run()
        except DBAPIError as error:
            if not is_deadlock(error):
                raise
            transactions.rollback()
    return run()
