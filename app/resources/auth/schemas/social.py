"""Bodies, queries and results of the social login."""

from dataclasses import dataclass
from typing import Annotated, Any

from marshmallow import Schema, fields, validate

from app.http.validation import RequestBody, RequestQuery, text

PROVIDERS = ["social_a", "social_b", "github", "google"]
PAGE: dict[str, Any] = {"required": False, "load_default": None, "allow_none": True}


@dataclass(frozen=True, kw_only=True)
class SocialSignInBody(RequestBody):
    """The provider, by the name of the specification or of better-auth, and the pages after the login."""

    provider: Annotated[str, fields.String(required=True, validate=validate.OneOf(PROVIDERS))]
    callback_url: Annotated[str | None, text(0, 2048, data_key="callbackURL", **PAGE)]
    error_callback_url: Annotated[str | None, text(0, 2048, data_key="errorCallbackURL", **PAGE)]


class SocialStartedSchema(Schema):
    """The URL of the provider."""

    url = fields.Url()
    redirect = fields.Boolean()


@dataclass(frozen=True, kw_only=True)
class CallbackQuery(RequestQuery):
    """The query of a callback. A missing or malformed state equals an unknown one."""

    code: Annotated[str, fields.String(load_default="")]
    state: Annotated[str, fields.String(load_default="")]
    error: Annotated[str, fields.String(load_default="")]
