"""Conversations of the running HTTP request, and event streams of the AI handlers."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flask import Response as HttpResponse
from flask import request

from app.access.scope import Scope
from app.concurrency.background import Blocks
from app.core.limits import AiLimits
from app.database import transactions
from app.extensions import current_settings, db, drivers
from app.http import envelope
from app.http.streaming import disconnects
from app.http.streaming.response import EventStream, StreamSettings, sse_response
from app.resources.ai import streams
from app.resources.ai.conversation import Conversation, Watch, error_text
from app.resources.ai.credentials import CallerCredentials, choose, read_caller_credentials
from app.resources.ai.schemas.requests import AiRequestBody
from app.resources.ai.usage_ledger import UsageEntry, UsageMeter

__all__ = ["Client", "HttpResponse", "client_of", "conversation_for", "event_stream", "json_response"]

JSON, STREAM = "application/json", "text/event-stream"


@dataclass(frozen=True)
class Client:
    """Values of the running request that a conversation needs."""

    credentials: CallerCredentials
    accepts_stream: bool
    watch: Watch


def client_of(body: AiRequestBody) -> Client:
    """Return the client of the running request. Its headers take precedence over the credentials in the body."""
    in_body = CallerCredentials(body.api_key, body.provider, body.model)
    return Client(
        credentials=read_caller_credentials(request.headers, in_body),
        accepts_stream=request.accept_mimetypes.best_match([STREAM, JSON]) != JSON,
        watch=functools.partial(disconnects.on_disconnect, request),
    )


def conversation_for(scope: Scope, client: Client, handler: str, *, total_s: float | None = None) -> Conversation:
    """Return a conversation for the caller and release the connection of the request.

    Raises:
        InvalidRequest, KeyRequired: there is no valid key, provider or model.
    """
    settings = current_settings()
    credentials = choose(client.credentials, settings.ai)
    organization = scope.organization
    entry = UsageEntry(
        user_id=scope.caller.id,
        organization_id=organization.id if organization is not None else None,
        handler=handler,
        provider=credentials.provider,
        model=credentials.access.model,
        own_key=credentials.own,
    )
    meter = UsageMeter(db.engine, settings.limits.ai, entry)
    transactions.release_connection()
    total_s = total_s or settings.limits.ai.total_timeout_s
    model = drivers.ai[credentials.provider]
    return Conversation(model, credentials, meter, settings.limits.ai, total_s, watch=client.watch)


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
