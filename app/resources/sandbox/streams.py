"""Server-sent events of a sandbox start: one event per step, then the sandbox or the failure."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from flask import Flask, Response, current_app

from app.access.membership import membership_check
from app.concurrency.background import Blocks, prefetch
from app.database import session
from app.http.streaming.response import EventStream, StreamSettings, sse_response
from app.http.streaming.sse import failure, sse_event
from app.resources.sandbox import lifecycle
from app.resources.sandbox.host_sync import SandboxFailed
from app.resources.sandbox.prepare import CreateResult

STREAM_S = 600


def stream(result: CreateResult) -> Response:
    """Return the stream of a start. It ends when the caller loses the membership."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    disconnected = threading.Event()
    allowed = membership_check(app.extensions["reading_engine"], result.organization_id, result.user_id)
    blocks = prefetch(_blocks(app.app_context, result, disconnected))
    events = EventStream(blocks, cancel=disconnected.set, failed=failure_event, allowed=allowed)
    return sse_response(events, timing=StreamSettings(total_s=STREAM_S))


def failure_event(error: Exception) -> bytes:
    """Return the last event of a failed start: error and code, and for a failed site its step, hint and log."""
    if not isinstance(error, SandboxFailed):
        return failure(error)
    details = {name: (error.result or {}).get(name) for name in ("step", "hint", "log_tail", "log_url")}
    return sse_event({"error": error.message, "code": error.code, **details})


def _blocks(
    context: Callable[[], AbstractContextManager[object]], result: CreateResult, disconnected: threading.Event
) -> Blocks:
    """Yield the events. Runs in the background and therefore needs an application context."""
    handle = result.handle
    if handle is None:
        yield sse_event({"done": True, "active": False})
        return
    with context():
        for step in lifecycle.steps(handle, result.host, result.user_id, urls=result.urls):
            yield sse_event({"step": step})
            if disconnected.is_set():
                return
        response = lifecycle.to_response(handle, result.user_id, urls=result.urls, wrote=result.has_file)
        session.release_connection()
    yield sse_event(response)
