"""Request bodies and query strings of webhooks."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from marshmallow import ValidationError, fields, validate

from app.core.errors import ErrorMessage
from app.core.urls import MAX_HTTP_URL_LENGTH, parse_http_url
from app.http.json_schema import described
from app.http.validation import (
    ABSENT,
    Absent,
    BoundedList,
    IdField,
    Length,
    PageQuery,
    RequestBody,
)
from app.models.outbound_webhook import DeliveryState, WebhookFormat, WebhookState
from app.resources.outbound_webhook.schemas.events import event_types

TYPES = sorted(event_types)
URL = "https://hooks.harbour.example.org/galley"
INVALID_URL = ErrorMessage("Must be an https URL without user name, password and fragment.")


@described(pattern=r"^https?://[^\s@#\\]+$")
def _is_http_url(url: str) -> None:
    if parse_http_url(url) is None:
        raise ValidationError(INVALID_URL)


def _url(**kwargs: Any) -> fields.String:
    """Build the field of a URL. The service checks its addresses."""
    return fields.String(
        validate=[Length(max=MAX_HTTP_URL_LENGTH), _is_http_url],
        metadata={"example": URL, "description": "An https URL with public addresses"},
        **kwargs,
    )


def _events(**kwargs: Any) -> fields.List[Any]:
    """Build the field of the types of events."""
    return BoundedList(
        fields.String(validate=validate.OneOf(TYPES)),
        max_length=len(TYPES),
        metadata={"example": ["content.committed", "branch.moved"], "description": "The types of events"},
        **kwargs,
    )


def _description(**kwargs: Any) -> fields.String:
    return fields.String(validate=Length(max=200), metadata={"description": "A note for people"}, **kwargs)


@dataclass(frozen=True, kw_only=True)
class CreateWebhookBody(RequestBody):
    """A new webhook. The format `empty` calls a deploy hook of a project without a body and has no `events`."""

    url: Annotated[str, _url(required=True)]
    endpoint_format: Annotated[
        WebhookFormat,
        fields.Enum(
            WebhookFormat,
            by_value=True,
            data_key="format",
            load_default=WebhookFormat.STANDARD,
            metadata={"description": "`standard` sends signed messages, `empty` calls a deploy hook without a body"},
        ),
    ]
    events: Annotated[list[str] | None, _events(load_default=None, allow_none=True)]
    project_id: Annotated[str | None, IdField("prj", load_default=None, allow_none=True)]
    description: Annotated[str | None, _description(load_default=None, allow_none=True)]

    RULES: ClassVar[dict[str, object]] = {
        "if": {"required": ["format"], "properties": {"format": {"const": WebhookFormat.EMPTY.value}}},
        "then": {"required": ["project_id"], "properties": {"project_id": {"type": "string"}}},
        "else": {"required": ["events"], "properties": {"events": {"type": "array", "items": {}}}},
    }

    def __post_init__(self) -> None:
        """Require the fields of the format."""
        if self.endpoint_format == WebhookFormat.STANDARD and not self.events:
            raise ValidationError(ErrorMessage("Must contain at least one type."), "events")
        if self.endpoint_format == WebhookFormat.EMPTY and self.events:
            raise ValidationError("A webhook with the format empty has no events.", "events")
        if self.endpoint_format == WebhookFormat.EMPTY and self.project_id is None:
            raise ValidationError("A webhook with the format empty needs a project.", "project_id")


@dataclass(frozen=True, kw_only=True)
class UpdateWebhookBody(RequestBody):
    """Changes of a webhook. A field that is not sent stays unchanged."""

    url: Annotated[str | Absent, _url()] = ABSENT
    events: Annotated[list[str] | Absent, _events(min_length=1)] = ABSENT
    description: Annotated[str | Absent | None, _description(allow_none=True)] = ABSENT
    state: Annotated[
        WebhookState | Absent,
        fields.Enum(
            WebhookState,
            by_value=True,
            validate=validate.NoneOf([WebhookState.DISABLED], error="Must be one of: active, paused."),
            metadata={"enum": ["active", "paused"], "description": "`active` also ends a pause after failures"},
        ),
    ] = ABSENT

    def changes(self) -> dict[str, Any]:
        """Return the fields that the client sent, without the URL. A cleared description is empty."""
        sent = {name: value for name, value in self.sent().items() if name != "url"}
        return sent | ({"description": sent["description"] or ""} if "description" in sent else {})


@dataclass(frozen=True, kw_only=True)
class RecoverWebhookBody(RequestBody):
    """The time since which failed and discarded messages are sent again."""

    since: Annotated[
        datetime,
        fields.AwareDateTime(
            format="iso",
            default_timezone=UTC,
            required=True,
            metadata={"description": "At most 30 days ago. A time without a zone is UTC"},
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class DeliveriesQuery(PageQuery):
    """A filter and a page of deliveries."""

    state: Annotated[DeliveryState | None, fields.Enum(DeliveryState, by_value=True, load_default=None)]
    type: Annotated[str | None, fields.String(load_default=None, validate=validate.OneOf(TYPES))]
    since: Annotated[
        datetime | None,
        fields.AwareDateTime(
            format="iso",
            default_timezone=UTC,
            load_default=None,
            metadata={"description": "A time without a zone is UTC"},
        ),
    ]
