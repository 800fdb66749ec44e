"""The section `webhooks` of the document: the messages that the service sends."""

from collections.abc import Iterable
from typing import Any

from apispec import APISpec

from app.http.api_document.components import PREFIX, Components
from app.http.blueprint import DocumentedEvent

HEADERS = {
    "webhook-id": "The id of the message. It stays the same when the message is sent again.",
    "webhook-timestamp": "The time of the attempt in seconds since 1970.",
    "webhook-signature": "Signatures of `id.timestamp.body` (Standard Webhooks), separated by spaces. "
    "One must be valid.",
}
TIMESTAMP = "2026-11-20T09:00:00.000Z"
TAG = {
    "name": "webhook_messages",
    "x-displayName": "Webhook messages",
    "description": "The messages that the service sends to webhooks.",
}
"""Generators write one module for each tag. A tag with messages and routes would be written twice."""


def webhooks(spec: APISpec, components: Components, events: Iterable[DocumentedEvent]) -> dict[str, Any]:
    """Return the section, and add the schemas of the data to the document."""
    return {event.name: {"post": _operation(spec, components, event)} for event in events}


def _operation(spec: APISpec, components: Components, event: DocumentedEvent) -> dict[str, Any]:
    component = components.name_of(event.data)
    if component not in spec.components.schemas:
        spec.components.schema(component, schema=event.data)
    schema = {
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"type": "string", "const": event.name, "description": "The type of the event."},
            "timestamp": {"type": "string", "format": "date-time", "description": "The time of the event."},
            "data": {"$ref": f"{PREFIX}{component}"},
        },
    }
    example = {"type": event.name, "timestamp": TIMESTAMP, "data": dict(event.example)}
    return {
        "operationId": f"on{''.join(part.capitalize() for part in event.name.replace('.', '_').split('_'))}",
        "summary": event.description.rstrip("."),
        "description": event.description,
        "tags": [TAG["name"]],
        "security": [],
        "parameters": [
            {"in": "header", "name": name, "required": True, "description": text, "schema": {"type": "string"}}
            for name, text in HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": example}}},
        "responses": {
            "2XX": {"description": "The message was received. The service waits for 20 seconds."},
            "410": {"description": "The webhook is disabled."},
            "default": {"description": "The message is sent again later."},
        },
    }
