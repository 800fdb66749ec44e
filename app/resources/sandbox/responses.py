"""Responses of the create route: JSON when the sandbox runs, or a stream of events."""

import threading

from flask import Flask, Response, current_app, request

from app.access.guards import membership_check
from app.concurrency.background import Blocks, prefetch
from app.database import transactions
from app.http import envelope
from app.http.streaming.response import EventStream, StreamSettings, failure, sse_event, sse_response
from app.resources.sandbox import connection
from app.resources.sandbox.connection import CreateResult
from app.resources.sandbox.host_sync import SandboxFailed

STREAM_S = 900


def render(result: CreateResult, content: dict[str, object] | None) -> Response:
    """Return the JSON response, or the stream of events."""
    if content is None or accepts_events():
        return stream(result)
    message = "Preview is running" if result.handle is not None else "No preview is running"
    is_new = result.handle is not None and result.handle.is_new
    return envelope.success(request, content, message, status=201 if is_new else 200)


def accepts_events() -> bool:
    """Return whether the caller accepts events. They are the default; JSON must be named in the Accept header."""
    best = request.accept_mimetypes.best_match(["text/event-stream", "application/json"], default="text/event-stream")
    is_named = "application/json" in request.headers.get("Accept", "")
    return not (is_named and best == "application/json")


def stream(result: CreateResult) -> Response:
    """Return the stream of a start. It ends when the caller loses the membership."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    disconnected = threading.Event()
    allowed = membership_check(app.extensions["reading_engine"], result.project_id, result.user_id)
    blocks = prefetch(_blocks(app, result, disconnected))
    events = EventStream(blocks, cancel=disconnected.set, failed=failure_event, allowed=allowed)
    return sse_response(events, timing=StreamSettings(total_s=STREAM_S))


def failure_event(error: Exception) -> bytes:
    """Return the last event of a failed start: error and code, and for a failed site its step, hint and log."""
    if not isinstance(error, SandboxFailed):
        return failure(error)
    details = {name: (error.result or {}).get(name) for name in ("step", "hint", "log_tail", "log_url")}
    return sse_event({"error": error.message, "code": error.code, **details})


def _blocks(app: Flask, result: CreateResult, disconnected: threading.Event) -> Blocks:
    """Yield the events. Runs in the background and therefore needs an application context."""
    if result.handle is None:
        yield sse_event({"done": True, "active": False})
        return
    with transactions.reading_context(app):
        for step in connection.steps(result):
            detail: dict[str, object] = {"detail": step.detail} if step.detail else {}
            yield sse_event({"step": step.step} | detail)
            if disconnected.is_set():
                return
        response = connection.to_response(result)
    yield sse_event(response)
