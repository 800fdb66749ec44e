"""The steps of a request (architecture, section 5). Their order is the contract's (section 0)."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flask import Response, request
from marshmallow import Schema

from app.access import authentication
from app.database import transactions
from app.extensions import current_settings
from app.http import body as bodies
from app.http import body_admission, idempotency, rate_limits, uploads
from app.http.actions import ActionSteps
from app.http.loading import load, load_query
from app.http.results import render
from app.http.validation import RequestBody

if TYPE_CHECKING:
    from app.http.endpoint import Endpoint


class RequestSteps(ActionSteps):
    """One request of an endpoint.

    Subclasses replace the public steps: `read_body`, `work` and `conclude`.
    """

    declared: "Endpoint"

    def __init__(self, declared: "Endpoint", ids: Mapping[str, str], *, method: str | None = None) -> None:
        super().__init__(declared, ids)
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
        joins_target = self.is_read or self.is_locked
        target = declared.guard.with_session(self.ids) if joins_target else None
        caller, self._joined = authentication.caller_with(target)
        rate_limits.check_caller(declared.rate, caller)
        self.data = {} if self.is_read else self.read_body()
        declared.guard.authenticate()
        if caller is not None:
            authentication.update_activity(caller)
        self.claim = idempotency.claim_for(request, caller)
        return idempotency.run(self.claim, self._count_and_work)

    def _count_and_work(self) -> Response:
        """Do the work. A request that fails does not count in the hourly and daily rates."""
        self.is_retry = self.claim is not None and self.claim.is_takeover
        with rate_limits.cancelled_on_failure():
            response: Response = self.work()
        if response.status_code >= 400:
            rate_limits.cancel_recorded()
        return response

    def conclude(self, value: object) -> Any:
        """Return the response with the result of the view."""
        return render(self.declared, value)

    def store(self, result: Any) -> None:
        """Store the response for a retry with the same idempotency key."""
        if self.claim is not None:
            self.claim.store_response(result, hidden=self.declared.secret_fields)

    def read_body(self) -> dict[str, object]:
        """Read the body. The caller and the rates are known, so a large body is refused before it is read."""
        declared = self.declared
        admission = body_admission.begin_admission(rate_limits.address(), declared.guard.authenticate)
        if declared.form:
            return uploads.read_form(request, current_settings().limits.input, admit=admission.admit)
        return bodies.read_json(
            request, max_bytes=declared.max_bytes, any_type=declared.any_type, admit=admission.admit
        )

    def arguments(self) -> dict[str, Any]:
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
        if "body" in arguments:
            declared.guard.check_body(arguments["scope"], arguments["body"])
        if declared.query_schema is not None:
            arguments["query"] = load_query(declared.query_schema, request)
        return arguments

    def _load_body(self, body: type[Schema] | type[RequestBody]) -> object:
        schema = body.schema if issubclass(body, RequestBody) else body
        return load(schema, self.data, is_change=self.method in ("PATCH", "PUT"))
