"""What the routes do before their transaction: everything here talks to a sandbox host, which takes its time."""

import threading
from dataclasses import dataclass
from typing import Any, cast

from flask import Flask, Response, current_app, request

from app import transactions
from app.core.beside import Blocks, beside
from app.core.limits import MIB, SandboxLimits
from app.core.preview_links import Links
from app.drivers.sandbox.port import SandboxHost
from app.extensions import drivers
from app.http import envelope, rate_limits
from app.http.configuration import settings
from app.http.json_events import event, failure
from app.http.rights import membership
from app.http.scope import Scope
from app.http.streaming import Events, Timing, sse_response
from app.models.sandbox import LIVE, Sandbox
from app.resources.sandbox import creating, service
from app.resources.sandbox.addresses import Place
from app.resources.sandbox.creating import Creation
from app.resources.sandbox.schemas import CreateBody
from app.resources.sandbox.starting import Starter

CREATE_BYTES = 5 * MIB
"""A file of a million characters, in whatever they take."""

STREAM_S = 600
INACTIVE = {"active": False}


@dataclass(frozen=True)
class Outcome:
    """What a create came to; `result` is filled where the caller waits for JSON."""

    creation: Creation | None
    result: dict[str, Any] | None
    user_id: str
    organization_id: str


def create(scope: Scope, body: CreateBody) -> Outcome:
    """Claim or connect; with `Accept: application/json` wait until it runs.

    Editors call with `onlyIfActive` for every pause in typing; such calls start nothing and count as writes alone.
    """
    if not body["onlyIfActive"]:
        rate_limits.count("sandbox_create", scope.actor.id)
    user_id, organization_id = scope.actor.id, scope.organization.id
    starter = Starter(_app(), drivers["git"], _host())
    creation = creating.create(scope.project, scope.actor, body, starter=starter, place=_place(), limits=_limits())
    result = None
    if creation is None:
        result = INACTIVE
    elif not _wants_events():
        for _step in creating.steps(creation, _host()):
            pass
        result = creating.present(creation, user_id, place=_place(), wrote=body["uncommittedFile"] is not None)
    transactions.start_reading()
    return Outcome(creation, result, user_id, organization_id)


def answer(outcome: Outcome) -> Response:
    """JSON where that is asked for, else the steps as they come."""
    if not _wants_events() and outcome.result is not None:
        creation = outcome.creation
        message = "Preview is running" if creation is not None else "No preview is running"
        made = creation is not None and creation.made
        return envelope.success(request, outcome.result, message, status=201 if made else 200)
    left = threading.Event()
    app = _app()
    allowed = membership(app.extensions["reading_engine"], outcome.organization_id, outcome.user_id)
    blocks = beside(_blocks(app, outcome, _place(), left))
    events = Events(blocks, cancel=left.set, failed=failure, allowed=allowed)
    return sse_response(events, timing=Timing(total_s=STREAM_S))


def heartbeat(scope: Scope, _body: dict[str, str | None]) -> dict[str, object]:
    """Extend the row's lease, then the host's."""
    gone: dict[str, object] = {"ok": False, "status": "stopped", "expiresAt": None}
    sandbox = _named(scope)
    if sandbox is None:
        return gone
    with transactions.writing():
        left_s = service.heartbeat(sandbox, limits=_limits())
    if left_s is None:
        return gone
    creating.renew(sandbox, _host())
    transactions.start_reading()
    alive = sandbox.state in LIVE
    return {"ok": True, "status": sandbox.state.value, "expiresAt": sandbox.expires_at} if alive else gone


def stop(scope: Scope, _body: dict[str, str | None]) -> dict[str, bool]:
    """End the row and what its host runs."""
    sandbox = _named(scope)
    if sandbox is not None:
        creating.stop(sandbox, _host())
    return {"ok": True}


def _blocks(app: Flask, outcome: Outcome, place: Place, left: threading.Event) -> Blocks:
    """Runs beside the request, so in a context of its own."""
    creation = outcome.creation
    if creation is None:
        yield event({"done": True, **INACTIVE})
        return
    with app.app_context():
        for step in creating.steps(creation, _host()):
            yield event({"step": step})
            if left.is_set():
                return
        wrote = creation.pending is not None
        told = creating.present(creation, outcome.user_id, place=place, wrote=wrote)
        transactions.rest()
    yield event(told)


def _wants_events() -> bool:
    """Events unless JSON is asked for by name."""
    best = request.accept_mimetypes.best_match(["text/event-stream", "application/json"], default="text/event-stream")
    named = "application/json" in request.headers.get("Accept", "")
    return not (named and best == "application/json")


def _named(scope: Scope) -> Sandbox | None:
    found = scope.found.get("sandbox") or service.live_of(scope.project.id)
    return cast("Sandbox | None", found)


def _app() -> Flask:
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    return app


def _host() -> SandboxHost:
    host: SandboxHost = drivers["sandbox"]
    return host


def _limits() -> SandboxLimits:
    return settings().limits.sandbox


def _place() -> Place:
    known = settings()
    return Place(known.server.base_url, known.sandbox.preview_host, Links(known.security.secret_key))
