"""Request bodies and results of the connection of an account."""

from dataclasses import dataclass
from typing import Annotated, Any

from marshmallow import Schema, fields

from app.http.validation import RequestBody, RequestQuery, text, web_url
from app.resources.git_provider.schemas.credentials import Number

OPTIONAL: dict[str, Any] = {"required": False, "load_default": None, "allow_none": True}


@dataclass(frozen=True, kw_only=True)
class InstallationCallback:
    """The callback parameters of provider A."""

    code: Annotated[str | None, text(1, 512, **OPTIONAL)]
    installation_id: Annotated[str | None, Number(load_default=None, allow_none=True)]
    state: Annotated[str | None, text(0, 512, **OPTIONAL)]


@dataclass(frozen=True, kw_only=True)
class ExchangeInstallationBody(InstallationCallback, RequestBody):
    """The callback parameters of provider A, in the body or in the query string."""


@dataclass(frozen=True, kw_only=True)
class ExchangeInstallationQuery(InstallationCallback, RequestQuery):
    """The callback parameters of provider A in the query string."""


@dataclass(frozen=True, kw_only=True)
class ExchangeCodeBody(RequestBody):
    """The callback parameters of provider B. With a state the stored redirect and verifier are used."""

    code: Annotated[str, text(1, 512)]
    redirect_uri: Annotated[str | None, web_url(**OPTIONAL)]
    code_verifier: Annotated[str | None, text(1, 512, **OPTIONAL)]
    state: Annotated[str | None, text(0, 512, **OPTIONAL)]


@dataclass(frozen=True, kw_only=True)
class StartConnectionBody(RequestBody):
    """The page of the web app to which provider B redirects."""

    redirect_uri: Annotated[str | None, text(1, 2048, **OPTIONAL)]


class StartedConnectionSchema(Schema):
    """The URL of the provider."""

    url = fields.Url()
