"""Request bodies and results of API tokens."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from marshmallow import ValidationError, fields, post_load

from app.core import clock
from app.core.api_tokens import TokenScope
from app.core.limits import TextLengths, TokenLimits
from app.http.loading import instance
from app.http.validation import DateTimeMs, IdField, Length, NameField, RequestBody, RequestSchema
from app.models.login import ApiToken
from app.resources.api_token.service import IssuedToken, TokenChanges, TokenValues

EXAMPLE = {
    "id": "tok_01jd3h8f2mfz1t4v5w6x7y8z9a",
    "name": "Deploy",
    "scopes": ["read", "publish"],
    "projects": ["prj_01jd3h8f2mfz1t4v5w6x7y8z9b"],
    "token_hint": "k3Zp",
    "expires_at": "2027-02-20T09:00:00.000Z",
}


def _projects(**kwargs: Any) -> fields.List[str]:
    """Build the field of the projects of a token."""
    return fields.List(
        IdField("prj"),
        allow_none=True,
        validate=Length(1, TokenLimits.projects),
        metadata={"example": EXAMPLE["projects"], "description": "The permitted projects, or null for all"},
        **kwargs,
    )


def _scopes(**kwargs: Any) -> fields.List[TokenScope]:
    """Build the field of the scopes of a token."""
    return fields.List(
        fields.Enum(TokenScope, by_value=True),
        validate=Length(1, len(TokenScope)),
        metadata={"example": EXAMPLE["scopes"]},
        **kwargs,
    )


def _expiry(**kwargs: Any) -> fields.AwareDateTime:
    """Build the field of an expiry. A time without a zone is UTC."""
    return fields.AwareDateTime(
        format="iso",
        default_timezone=UTC,
        validate=_is_storable,
        metadata={"example": EXAMPLE["expires_at"], "description": "At most 366 days from now"},
        **kwargs,
    )


def _is_storable(value: datetime) -> None:
    """Refuse years that databases cannot store. The service checks the permitted lifetime."""
    if not 2000 <= value.year < 3000:
        raise ValidationError("Must be a time between the years 2000 and 2999.")


class CreateTokenBody(RequestSchema):
    """A new token or service account. The default lifetime is 90 days."""

    name = NameField(TextLengths.TOKEN_NAME, required=True, metadata={"example": EXAMPLE["name"]})
    scopes = _scopes(required=True)
    projects = _projects(load_default=None)
    expires_at = _expiry(load_default=None, allow_none=True)

    @post_load
    def create(self, data: dict[str, Any], **_kwargs: object) -> TokenValues:
        """Return the values of the token."""
        return TokenValues(**data)


class UpdateTokenBody(RequestSchema):
    """Changes of a token. A field that is not sent stays unchanged; null projects permit all projects."""

    name = NameField(TextLengths.TOKEN_NAME, metadata={"example": EXAMPLE["name"]})
    scopes = _scopes()
    projects = _projects()
    expires_at = _expiry()

    @post_load
    def create(self, data: dict[str, Any], **_kwargs: object) -> TokenChanges:
        """Return the changes."""
        return TokenChanges(all_projects="projects" in data and data["projects"] is None, **data)


@dataclass(frozen=True, kw_only=True)
class RotateTokenBody(RequestBody):
    """A new secret. The default is the lifetime of the previous secret."""

    expires_at: Annotated[datetime | None, _expiry(load_default=None, allow_none=True)]


def status_of(row: ApiToken) -> str:
    """Return `active`, `expired` or `revoked`."""
    if row.revoked_at is not None:
        return "revoked"
    return "active" if row.expires_at > clock.now() else "expired"


class ApiTokenSchema(RequestSchema):
    """A token without its secret."""

    id = fields.String(metadata={"example": EXAMPLE["id"]})
    name = fields.String(metadata={"example": EXAMPLE["name"]})
    scopes = fields.List(fields.String(metadata={"enum": list(TokenScope)}), metadata={"example": EXAMPLE["scopes"]})
    projects = fields.List(fields.String(), allow_none=True, metadata={"example": EXAMPLE["projects"]})
    user_id = fields.String(metadata={"description": "The owner, whose rights limit the token"})
    org_id = fields.String(attribute="organization_id", allow_none=True)
    token_hint = fields.String(metadata={"description": "The last characters", "example": EXAMPLE["token_hint"]})
    status = fields.Function(status_of, metadata={"type": "string", "enum": ["active", "expired", "revoked"]})
    expires_at = DateTimeMs()
    last_used_at = DateTimeMs(allow_none=True)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (wire name)


class IssuedTokenSchema(ApiTokenSchema):
    """A token with its secret, which no other response contains. The replay of an idempotency key contains null."""

    token = fields.String(allow_none=True, metadata={"example": "glly_…"})

    def dump(self, obj: IssuedToken, *, many: bool | None = None) -> object:
        """Dump the row and the secret."""
        return instance(ApiTokenSchema).dump(obj.row) | {"token": obj.secret}


class DeletedTokenSchema(RequestSchema):
    """A token that was deleted."""

    id = fields.String(metadata={"example": EXAMPLE["id"]})
    deleted = fields.Boolean()
