"""Results of the sign-in routes, with the field names of better-auth."""

from typing import Any, TypedDict

from marshmallow import Schema, fields, validate

from app.http.validation import DateTimeMs
from app.resources.user.schemas import SIGN_IN_METHODS, UserSchema


class SessionSchema(Schema):
    """A session. Its token is only in the cookie."""

    id = fields.String()
    userId = fields.String(attribute="user_id")  # noqa: N815 (wire name)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (wire name)
    expiresAt = DateTimeMs(attribute="expires_at")  # noqa: N815 (wire name)
    ipAddress = fields.String(attribute="ip_address", allow_none=True)  # noqa: N815 (wire name)
    userAgent = fields.String(attribute="user_agent", allow_none=True)  # noqa: N815 (wire name)


class ListedSessionSchema(SessionSchema):
    """A session in a list. `token` is its id for `revoke-session`, not the secret of the cookie."""

    token = fields.String(attribute="id", dump_only=True)


class SignedUpSchema(Schema):
    """A new user without a session, because the e-mail address is not verified."""

    token = fields.Constant(None)
    user = fields.Nested(UserSchema)


class SignedInSchema(Schema):
    """The signed-in user. The cookie carries the session."""

    redirect = fields.Constant(False)
    user = fields.Nested(UserSchema)


class VerifiedEmailSchema(Schema):
    """The user with a verified e-mail address. The cookie carries the session."""

    status = fields.Constant(True)
    user = fields.Nested(UserSchema)


class PasswordChangedSchema(Schema):
    """The user after a change of the password. The cookie carries the new token."""

    token = fields.Constant(None)
    user = fields.Nested(UserSchema)


class CurrentSessionSchema(Schema):
    """The current session and its user."""

    user = fields.Nested(UserSchema)
    session = fields.Nested(SessionSchema)


class CurrentSession(TypedDict):
    """The rows of `CurrentSessionSchema`."""

    user: Any
    session: Any


class SuccessSchema(Schema):
    """The result `{success: true}`."""

    success = fields.Boolean()


class AccountSchema(Schema):
    """A sign-in method with the field names of better-auth."""

    id = fields.String()
    providerId = fields.String(attribute="provider", validate=validate.OneOf(SIGN_IN_METHODS))  # noqa: N815
    accountId = fields.String(attribute="subject")  # noqa: N815 (wire name)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (wire name)
    scopes: fields.Field[Any] = fields.Constant([])
