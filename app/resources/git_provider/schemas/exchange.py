"""Request bodies and results of the connection of an account."""

from typing import Any, TypedDict

from marshmallow import Schema, fields, validate

from app.http.validation import RequestSchema, text
from app.resources.git_provider.schemas.credentials import Number

OPTIONAL: dict[str, Any] = {"required": False, "load_default": None, "allow_none": True}


class InstallationCodeBody(TypedDict):
    """Loaded body of `InstallationCode`."""

    code: str | None
    installation_id: str | None
    state: str | None


class InstallationCode(RequestSchema):
    """The callback parameters of provider A, in the body or in the query string."""

    code = text(1, 512, **OPTIONAL)
    installation_id = Number(load_default=None, allow_none=True)
    state = text(0, 512, **OPTIONAL)


class CodeBody(TypedDict):
    """Loaded body of `Code`."""

    code: str
    redirect_uri: str | None
    code_verifier: str | None
    state: str | None


class Code(RequestSchema):
    """The callback parameters of provider B. With a state the stored redirect and verifier are used."""

    code = text(1, 512)
    redirect_uri = fields.Url(
        schemes={"http", "https"}, require_tld=False, load_default=None, allow_none=True,
        validate=validate.Length(max=2048),
    )  # fmt: skip
    code_verifier = text(1, 512, **OPTIONAL)
    state = text(0, 512, **OPTIONAL)


class StartBody(TypedDict):
    """Loaded body of `Start`."""

    redirect_uri: str | None


class Start(RequestSchema):
    """The page of the web app to which provider B redirects."""

    redirect_uri = text(1, 2048, **OPTIONAL)


class Started(Schema):
    """The URL of the provider."""

    url = fields.Url()
