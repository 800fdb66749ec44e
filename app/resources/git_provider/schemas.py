"""Bodies, queries and results of the routes of Git providers."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from marshmallow import Schema, ValidationError, fields, validate

from app.core.errors import ErrorMessage
from app.http.json_schema import described
from app.http.validation import DateTimeMs, IdField, Length, PageQuery, RequestBody, RequestQuery, text, web_url
from app.models.git_credential import CredentialStatus
from app.models.project import Provider

PROVIDER_A, PROVIDER_B = Provider.GITHUB, Provider.GITLAB
ALIASES = {"provider_a": PROVIDER_A, "provider_b": PROVIDER_B}
TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LAST_TIME_MS = 253_402_300_799_999
"""The end of the year 9999."""
STATE = "The one-time value that the start of the connection issued to the same session"
OPTIONAL: dict[str, Any] = {"required": False, "load_default": None, "allow_none": True}


class ProviderName(fields.Field[Provider]):
    """A provider by its name or its neutral name, in any letter case."""

    names: tuple[str, ...] = ("github", "gitlab", "local", "provider_a", "provider_b")

    def __init__(self, **options: Any) -> None:
        description = "A Git host. The service accepts any letter case."
        super().__init__(metadata={"type": "string", "enum": list(self.names), "description": description}, **options)

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> Provider:
        name = value.lower() if isinstance(value, str) else ""
        if name in ALIASES:
            return ALIASES[name]
        try:
            return Provider(name)
        except ValueError as error:
            raise ValidationError("Must be one of: github, gitlab, local.") from error


class Number(fields.Field[str]):
    """A numeric id of a provider, as JSON number or text. JSON Schema also counts `7.0` as an integer."""

    def __init__(self, **options: Any) -> None:
        keywords = {"type": ["string", "integer"], "pattern": "^[0-9]{1,20}$", "maxLength": 20, "minimum": 0}
        super().__init__(metadata=keywords, **options)

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        digits = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(digits, str) or not digits.isdecimal() or len(digits) > 20:
            raise ValidationError("Must be a number.")
        return digits


class RemoteProviderName(ProviderName):
    """A provider whose accounts are connected."""

    names = ("github", "gitlab", "provider_a", "provider_b")

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> Provider:
        provider = super()._deserialize(value, attr, data, **kwargs)
        if provider.is_local:
            raise ValidationError("Must be one of: github, gitlab.")
        return provider


class LocalProviderName(ProviderName):
    """The provider of repositories on this machine."""

    names = ("local",)


class Time(fields.Field[datetime]):
    """A time in a body: ISO-8601 with an offset, or milliseconds since 1970."""

    def __init__(self, **options: Any) -> None:
        description = "ISO-8601 with an offset, or milliseconds since 1970."
        keywords = {"type": ["string", "number"], "format": "date-time", "minimum": 0, "maximum": LAST_TIME_MS}
        super().__init__(metadata=keywords | {"description": description}, **options)

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> datetime:
        try:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return datetime.fromtimestamp(value / 1000, UTC)
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        except (ValueError, OverflowError, OSError):
            moment = None
        if moment is None:
            raise ValidationError("Must be an ISO-8601 time or milliseconds since 1970.")
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _token(*, required: bool = False) -> fields.String:
    """Build the field of a token that a header can contain."""

    @described(pattern="^[\\x21-\\x7e]{1,4096}$", maxLength=4096)
    def fit(value: str) -> None:
        if not TOKEN.fullmatch(value):
            raise ValidationError("Must be a token of visible ASCII characters.")

    if required:
        return fields.String(required=True, validate=fit)
    return fields.String(load_default=None, allow_none=True, validate=fit)


def _time() -> Time:
    return Time(load_default=None, allow_none=True)


@dataclass(frozen=True, kw_only=True)
class CreateCredentialBody(RequestBody):
    """Tokens of the caller at a provider."""

    provider: Annotated[Provider, RemoteProviderName(required=True)]
    access_token: Annotated[str, _token(required=True)]
    token_type: Annotated[
        str,
        text(
            1,
            40,
            required=False,
            load_default="bearer",
            metadata={"description": "The `token_type` of the OAuth response of the provider"},
        ),
    ]
    refresh_token: Annotated[str | None, _token()]
    installation_id: Annotated[str | None, Number(load_default=None, allow_none=True)]
    installation_access_token: Annotated[str | None, _token()]
    access_token_expires_at: Annotated[datetime | None, _time()]
    refresh_token_expires_at: Annotated[datetime | None, _time()]


@dataclass(frozen=True, kw_only=True)
class RotateCredentialBody(RequestBody):
    """A pair that the caller refreshed, with the previous refresh token."""

    provider: Annotated[Provider, RemoteProviderName(required=True)]
    old_refresh_token: Annotated[str, _token(required=True)]
    access_token: Annotated[str, _token(required=True)]
    refresh_token: Annotated[str, _token(required=True)]
    access_token_expires_at: Annotated[datetime | None, _time()]
    refresh_token_expires_at: Annotated[datetime | None, _time()]


class RemovedCredentialSchema(Schema):
    """The deleted credential."""

    id = fields.String()
    deleted = fields.Boolean()


@described(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", maxLength=100)
def plain_name(value: str) -> None:
    """Check the name of a repository without its owner."""
    if not NAME.fullmatch(value) or ".." in value or value.lower().endswith((".git", ".lock", ".")):
        raise ValidationError(
            ErrorMessage("Must contain letters, digits, “.”, “_” and “-” only and start with a letter or digit.")
        )


@dataclass(frozen=True, kw_only=True)
class CreateRepositoryBody(RequestBody):
    """A new local repository of an organization."""

    provider: Annotated[
        Provider, LocalProviderName(required=True, validate=validate.Equal(Provider.LOCAL, error="Must be: local."))
    ]
    org_id: Annotated[str, IdField("org", required=True)]
    name: Annotated[str, fields.String(required=True, validate=plain_name)]


@dataclass(frozen=True, kw_only=True)
class RepositoriesQuery(PageQuery):
    """A filter of the repositories of one provider."""

    provider: Annotated[Provider, ProviderName(required=True)]
    search: Annotated[str | None, fields.String(load_default=None, validate=Length(max=255))]


class RepositoryItemSchema(Schema):
    """A repository in a listing (contract 4.8)."""

    id = fields.String()
    full_name = fields.String()
    owner = fields.Function(lambda repository: repository.full_name.rpartition("/")[0], metadata={"type": "string"})
    name = fields.Function(lambda repository: repository.full_name.rpartition("/")[2], metadata={"type": "string"})
    default_branch = fields.String()
    private = fields.Boolean(metadata={"description": "Whether only permitted accounts of the Git host can read it"})
    url = fields.String(allow_none=True)
    updated_at = DateTimeMs(allow_none=True)


class GitAccountSchema(Schema):
    """The account at the provider."""

    id = fields.String(attribute="account_id", allow_none=True)
    login = fields.String(attribute="account_login", allow_none=True)
    name = fields.String(attribute="account_name", allow_none=True)


class CredentialSchema(Schema):
    """A stored credential (contract 4.8)."""

    id = fields.String()
    user_id = fields.String()
    provider = fields.Enum(Provider, by_value=True)
    provider_account = fields.Nested(GitAccountSchema, attribute="*")
    token_type = fields.String()
    scopes = fields.List(fields.String(), metadata={"description": "The OAuth scopes that the Git host granted"})
    installation_id = fields.String(allow_none=True)
    access_token_expires_at = DateTimeMs(allow_none=True)
    refresh_token_expires_at = DateTimeMs(allow_none=True)
    last_refreshed_at = DateTimeMs(allow_none=True)
    status = fields.Enum(CredentialStatus, by_value=True)
    token_hint = fields.String(allow_none=True)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (the contract's name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (the contract's name)

    def get_attribute(self, obj: object, attr: str, default: object) -> object:
        """Return the row itself for `*`, so that nested fields read its columns."""
        return obj if attr == "*" else super().get_attribute(obj, attr, default)


@dataclass(frozen=True, kw_only=True)
class InstallationCallback:
    """The callback parameters of provider A."""

    code: Annotated[str | None, text(1, 512, **OPTIONAL)]
    installation_id: Annotated[str | None, Number(load_default=None, allow_none=True)]
    state: Annotated[str | None, text(0, 512, metadata={"description": STATE}, **OPTIONAL)]


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
    code_verifier: Annotated[
        str | None,
        text(1, 512, metadata={"description": "The PKCE verifier. A stored one of the state has priority"}, **OPTIONAL),
    ]
    state: Annotated[str | None, text(0, 512, metadata={"description": STATE}, **OPTIONAL)]


@dataclass(frozen=True, kw_only=True)
class StartConnectionBody(RequestBody):
    """The page of the web app to which provider B redirects."""

    redirect_uri: Annotated[
        str | None,
        text(
            1,
            2048,
            metadata={"description": "An address of an allowed origin. Default: the one of the configuration"},
            **OPTIONAL,
        ),
    ]


class StartedConnectionSchema(Schema):
    """The URL of the provider."""

    url = fields.Url()
