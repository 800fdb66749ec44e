"""Responses of the create route: JSON when the sandbox runs, or a stream of events."""

from typing import Any

from flask import Response, request

from app.access.scope import Scope
from app.http import envelope
from app.resources.sandbox import prepare, streams
from app.resources.sandbox.prepare import CreateResult
from app.resources.sandbox.schemas import CreateSandboxBody


def create(scope: Scope, body: CreateSandboxBody) -> tuple[CreateResult, dict[str, Any] | None]:
    """Create the sandbox and wait for it if the caller accepts JSON only."""
    result = prepare.create(scope, body)
    return result, None if accepts_events() and result.handle is not None else prepare.wait(result)


def render(result: CreateResult, content: dict[str, Any] | None) -> Response:
    """Return the JSON response, or the stream of events."""
    if content is None or accepts_events():
        return streams.stream(result)
    message = "Preview is running" if result.handle is not None else "No preview is running"
    is_new = result.handle is not None and result.handle.is_new
    return envelope.success(request, content, message, status=201 if is_new else 200)


def accepts_events() -> bool:
    """Return whether the caller accepts events. They are the default; JSON must be named in the Accept header."""
    best = request.accept_mimetypes.best_match(["text/event-stream", "application/json"], default="text/event-stream")
    is_named = "application/json" in request.headers.get("Accept", "")
    return not (is_named and best == "application/json")
