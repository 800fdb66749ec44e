"""What of the running request a conversation needs: keys, settings, drivers, and a database once the request is over."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from flask import Response, current_app, request

from app import transactions
from app.core.beside import Blocks
from app.core.limits import AiLimits
from app.extensions import db, drivers
from app.http import configuration, presence
from app.http.scope import Scope
from app.http.streaming import Events, Timing, sse_response
from app.resources.ai import ui_stream
from app.resources.ai.conversation import Conversation, sentence
from app.resources.ai.credentials import choose, given_in
from app.resources.ai.ledger import Entry, Meter
from app.resources.ai.library import Library

JSON, STREAM = "application/json", "text/event-stream"


def limits() -> AiLimits:
    """The numbers that hold for models."""
    return configuration.settings().limits.ai


def conversation(scope: Scope, body: Mapping[str, Any], handler: str, *, total_s: float | None = None) -> Conversation:
    """A conversation for this caller; from here on the request's own database connection is given back.

    Raises:
        Invalid, KeyRequired: there is no usable key, provider or model.
    """
    settings = configuration.settings()
    credentials = choose(given_in(request.headers, body), settings.ai)
    organization = scope.found.get("organization")
    entry = Entry(
        user_id=scope.actor.id,
        organization_id=organization.id if organization is not None else None,
        handler=handler,
        provider=credentials.provider,
        model=credentials.access.model,
        own_key=credentials.own,
    )
    meter = Meter(db.engine, settings.limits.ai, entry)
    transactions.rest()
    total_s = total_s or settings.limits.ai.total_timeout_s
    model = drivers["ai"][credentials.provider]
    watch = functools.partial(presence.watch, request)
    return Conversation(model, credentials, meter, settings.limits.ai, total_s, watch=watch)


def library(scope: Scope) -> Library:
    """The way to the files of the project that the request names."""
    return Library(_in_context(), scope.actor.id, scope.project.id, drivers["git"])


def library_if_named(scope: Scope) -> Library | None:
    """The same, of a request that need not name one."""
    return library(scope) if scope.found.get("project") is not None else None


def stream(conversation: Conversation, blocks: Blocks, files: Library | None) -> Response:
    """Send the answer as it comes, for as long as the reader may read the project it is about."""
    numbers = limits()
    events = Events(
        blocks,
        cancel=conversation.cancel,
        failed=lambda error: ui_stream.error(sentence(error)),
        end=ui_stream.DONE,
        allowed=files.allowed if files is not None else None,
    )
    timing = Timing(keep_alive_s=numbers.keep_alive_s, total_s=numbers.total_timeout_s)
    return sse_response(events, timing=timing, headers=ui_stream.HEADERS)


def wants_json() -> bool:
    """Whether the caller asks for one answer instead of a stream."""
    return request.accept_mimetypes.best_match([STREAM, JSON]) == JSON


def _in_context() -> Callable[[Callable[[], Any]], Any]:
    """Calls a function with a database session of its own, which only reads, when the request is long over."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]

    def run(call: Callable[[], Any]) -> Any:
        with app.app_context():
            transactions.start_reading()
            return call()

    return run
