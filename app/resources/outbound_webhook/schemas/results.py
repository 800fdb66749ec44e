"""Results of webhooks."""

from marshmallow import Schema, fields

from app.http.validation import PassthroughSchema
from app.models.outbound_webhook import DeliveryState, DisabledReason, WebhookFormat, WebhookState

TIME = {"format": "date-time"}


class WebhookSchema(PassthroughSchema):
    """A webhook without its secret."""

    id = fields.String()
    org_id = fields.String()
    project_id = fields.String(allow_none=True, metadata={"description": "The project, or null for the organization"})
    format = fields.Enum(
        WebhookFormat,
        by_value=True,
        metadata={"description": "`standard` sends signed messages, `empty` calls a deploy hook without a body"},
    )
    url = fields.String(
        allow_none=True, metadata={"description": "Null for the format `empty`, because the URL is a secret"}
    )
    host = fields.String(metadata={"description": "The host of the URL"})
    events = fields.List(fields.String(), metadata={"description": "The types of events. Empty for `empty`"})
    description = fields.String(metadata={"description": "A note for people"})
    state = fields.Enum(
        WebhookState,
        by_value=True,
        metadata={"description": "Messages of a paused webhook wait. Those of a disabled one are discarded"},
    )
    disabled_reason = fields.Enum(
        DisabledReason,
        by_value=True,
        allow_none=True,
        metadata={"description": "`gone` after a response with 410, `failing` after five days of failures"},
    )
    failing_since = fields.String(
        allow_none=True, metadata=TIME | {"description": "The first failure after the last success, or null"}
    )
    createdAt = fields.String(metadata=TIME)  # noqa: N815 (wire name)
    updatedAt = fields.String(metadata=TIME)  # noqa: N815 (wire name)


class SignedWebhookSchema(WebhookSchema):
    """A webhook with its secret, which no other response contains.

    The secret of the format `empty` and the replay of an idempotency key are null.
    """

    secret = fields.String(
        allow_none=True,
        metadata={"example": "whsec_…", "description": "The key of the signatures, with `whsec_` before its base64"},
    )


class DeletedWebhookSchema(PassthroughSchema):
    """A webhook that was deleted."""

    id = fields.String()
    deleted = fields.Boolean()


class DeliverySchema(PassthroughSchema):
    """A message for a webhook."""

    id = fields.String()
    message_id = fields.String(metadata={"description": "The header `webhook-id`"})
    type = fields.String(metadata={"description": "The type of the event"})
    project_id = fields.String(allow_none=True)
    sequence = fields.Integer(allow_none=True, metadata={"description": "The number of the message in its project"})
    state = fields.Enum(
        DeliveryState,
        by_value=True,
        metadata={"description": "`failed` after the last attempt, `discarded` if the webhook was disabled"},
    )
    attempt_count = fields.Integer(metadata={"description": "The attempts since the delivery began to wait"})
    next_at = fields.String(
        allow_none=True, metadata=TIME | {"description": "The time of the next attempt. Null unless it waits"}
    )
    createdAt = fields.String(metadata=TIME)  # noqa: N815 (wire name)


class AttemptSchema(Schema):
    """One request of a delivery."""

    createdAt = fields.String(metadata=TIME)  # noqa: N815 (wire name)
    status = fields.Integer(allow_none=True, metadata={"description": "The status of the response, or null"})
    error = fields.String(
        allow_none=True, metadata={"description": "The reason why there is no response, or null. For example `timeout`"}
    )
    duration_ms = fields.Integer(metadata={"description": "The milliseconds until the response"})
    response = fields.String(
        allow_none=True, metadata={"description": "The first 2,048 characters. Null for the format `empty`"}
    )


class DeliveryDetailsSchema(DeliverySchema):
    """A delivery with its request and its attempts."""

    headers = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        metadata={"description": "The headers of the last attempt without the signature"},
    )
    body = fields.String(allow_none=True, metadata={"description": "The exact body, or null if it is no longer stored"})
    attempts = fields.List(
        fields.Nested(AttemptSchema), metadata={"description": "The newest 50 attempts, newest first"}
    )


class RecoveredSchema(PassthroughSchema):
    """The number of messages that are sent again."""

    recovered = fields.Integer(
        metadata={"description": "The number of messages, at most 10,000. Repeat the request until it is 0"}
    )
