"""Access to the running HTTP request, and event streams of the AI handlers."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flask import Response as HttpResponse
from flask import request

from app.concurrency.background import Blocks
from app.core.limits import AiLimits
from app.http import envelope
from app.http.streaming import disconnects
from app.http.streaming.response import EventStream, StreamSettings, sse_response
from app.resources.ai import streams
from app.resources.ai.conversation import Conversation, Watch, error_text
from app.resources.ai.credentials import CallerCredentials, read_caller_credentials

__all__ = ["Client", "HttpResponse", "client_of_request", "event_stream", "json_response"]

JSON, STREAM = "application/json", "text/event-stream"


@dataclass(frozen=True)
class Client:
    """Values of the running request that a conversation needs."""

    credentials: CallerCredentials
    accepts_stream: bool
    watch: Watch


def client_of_request(in_body: CallerCredentials) -> Client:
    """Return the client of the running request. Its headers take precedence over the credentials in the body."""
    return Client(
        credentials=read_caller_credentials(request.headers, in_body),
        accepts_stream=request.accept_mimetypes.best_match([STREAM, JSON]) != JSON,
        watch=functools.partial(disconnects.on_disconnect, request),
    )


def json_response(result: Mapping[str, object], message: str) -> HttpResponse:
    """Return a complete reply in the envelope."""
    return envelope.success(request, result, message)


def event_stream(
    conversation: Conversation, blocks: Blocks, limits: AiLimits, *, is_allowed: Callable[[], bool] | None
) -> HttpResponse:
    """Send the reply as it is received, until `is_allowed` returns False."""
    events = EventStream(
        blocks,
        cancel=conversation.cancel,
        failed=lambda error: streams.error(error_text(error)),
        end=streams.DONE,
        allowed=is_allowed,
    )
    timing = StreamSettings(comment_interval_s=limits.comment_interval_s, total_s=limits.total_timeout_s)
    return sse_response(events, timing=timing, headers=streams.HEADERS)
