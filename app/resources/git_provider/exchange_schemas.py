"""What connecting an account is begun and finished with."""

from typing import Any, TypedDict

from marshmallow import Schema, fields, validate

from app.http.validation import Body, text
from app.resources.git_provider.schemas import Number

OPTIONAL: dict[str, Any] = {"required": False, "load_default": None, "allow_none": True}


class InstallationCodeBody(TypedDict):
    """What `InstallationCode` loads."""

    code: str | None
    installation_id: str | None
    state: str | None


class InstallationCode(Body):
    """What provider A sends the browser back with; the query string may hold it as well."""

    code = text(1, 512, **OPTIONAL)
    installation_id = Number(load_default=None, allow_none=True)
    state = text(0, 512, **OPTIONAL)


class CodeBody(TypedDict):
    """What `Code` loads."""

    code: str
    redirect_uri: str | None
    code_verifier: str | None
    state: str | None


class Code(Body):
    """What provider B sends the browser back with; with a state its redirect and verifier are known here."""

    code = text(1, 512)
    redirect_uri = fields.Url(
        schemes={"http", "https"}, require_tld=False, load_default=None, allow_none=True,
        validate=validate.Length(max=2048),
    )  # fmt: skip
    code_verifier = text(1, 512, **OPTIONAL)
    state = text(0, 512, **OPTIONAL)


class StartBody(TypedDict):
    """What `Start` loads."""

    redirect_uri: str | None


class Start(Body):
    """Where provider B sends the browser back to: a page of the web app."""

    redirect_uri = text(1, 2048, **OPTIONAL)


class Started(Schema):
    """Where the browser goes on."""

    url = fields.String()
