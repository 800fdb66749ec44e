"""Bodies, queries and results of the social login."""

from typing import Any, TypedDict

from marshmallow import Schema, fields, validate

from app.http.validation import RequestSchema, text

PAGE: dict[str, Any] = {"required": False, "load_default": None, "allow_none": True}


class SocialSignIn(RequestSchema):
    """The provider, by the name of the specification or of better-auth, and the pages after the login."""

    provider = fields.String(required=True, validate=validate.OneOf(["social_a", "social_b", "github", "google"]))
    callbackURL = text(0, 2048, attribute="callback_url", **PAGE)  # noqa: N815 (wire name)
    errorCallbackURL = text(0, 2048, attribute="error_callback_url", **PAGE)  # noqa: N815 (wire name)


class SocialSignInBody(TypedDict):
    """Loaded body of `SocialSignIn`."""

    provider: str
    callback_url: str | None
    error_callback_url: str | None


class SocialStarted(Schema):
    """The URL of the provider."""

    url = fields.Url()
    redirect = fields.Boolean()


class Callback(RequestSchema):
    """The query of a callback. A missing or malformed state equals an unknown one."""

    code = fields.String(load_default="")
    state = fields.String(load_default="")
    error = fields.String(load_default="")


class CallbackQuery(TypedDict):
    """Loaded query of `Callback`."""

    code: str
    state: str
    error: str
