"""What a social login is begun and finished with."""

from typing import TypedDict

from marshmallow import Schema, fields, validate

from app.http.validation import Body, text


class SocialSignIn(Body):
    """Which provider, by the specification's name or better-auth's, and where to end."""

    provider = fields.String(required=True, validate=validate.OneOf(["social_a", "social_b", "github", "google"]))
    callbackURL = text(0, 2048, required=False, load_default=None, allow_none=True, attribute="callback_url")  # noqa: N815


class SocialSignInBody(TypedDict):
    """What `SocialSignIn` loads."""

    provider: str
    callback_url: str | None


class SocialStarted(Schema):
    """Where the browser goes on."""

    url = fields.String()
    redirect = fields.Boolean()


class Callback(Body):
    """What a provider sends the browser back with; anything unfit is the same as a foreign state."""

    code = fields.String(load_default="")
    state = fields.String(load_default="")
    error = fields.String(load_default="")


class CallbackQuery(TypedDict):
    """What `Callback` loads."""

    code: str
    state: str
    error: str
