"""What the sign-in routes answer; names as better-auth's clients read them."""

from typing import Any, TypedDict

from marshmallow import Schema, fields

from app.http.validation import Moment
from app.resources.user.schemas import UserView


class SessionView(Schema):
    """A session; its token is in the cookie only."""

    id = fields.String()
    userId = fields.String(attribute="user_id")  # noqa: N815 (wire name)
    createdAt = Moment(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = Moment(attribute="updated_at")  # noqa: N815 (wire name)
    expiresAt = Moment(attribute="expires_at")  # noqa: N815 (wire name)
    ipAddress = fields.String(attribute="ip_address", allow_none=True)  # noqa: N815 (wire name)
    userAgent = fields.String(attribute="user_agent", allow_none=True)  # noqa: N815 (wire name)


class ListedSession(SessionView):
    """A session in a list; `token` is its handle for `revoke-session`, never the cookie's secret."""

    token = fields.String(attribute="id", dump_only=True)


class SignedUp(Schema):
    """No session yet: the e-mail waits for its code."""

    token = fields.Constant(None)
    user = fields.Nested(UserView)


class SignedIn(Schema):
    """The cookie carries the session."""

    redirect = fields.Constant(False)
    user = fields.Nested(UserView)


class Verified(Schema):
    """The e-mail is confirmed and its owner signed in."""

    status = fields.Constant(True)
    user = fields.Nested(UserView)


class PasswordChanged(Schema):
    """The cookie carries the new token."""

    token = fields.Constant(None)
    user = fields.Nested(UserView)


class Current(Schema):
    """Who is signed in."""

    user = fields.Nested(UserView)
    session = fields.Nested(SessionView)


class CurrentSession(TypedDict):
    """What `Current` shows, as rows."""

    user: Any
    session: Any


class Done(Schema):
    """`{success: true}`."""

    success = fields.Boolean()


class AccountView(Schema):
    """A way to sign in, as better-auth shows it."""

    id = fields.String()
    providerId = fields.String(attribute="provider")  # noqa: N815 (wire name)
    accountId = fields.String(attribute="subject")  # noqa: N815 (wire name)
    createdAt = Moment(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = Moment(attribute="updated_at")  # noqa: N815 (wire name)
    scopes: fields.Field[Any] = fields.Constant([])
