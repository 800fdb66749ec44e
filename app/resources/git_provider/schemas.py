"""The bodies, queries and answers of `/git-provider`. No answer ever carries a token."""

import re
from typing import Any, TypedDict

from marshmallow import Schema, ValidationError, fields, validate

from app.http.validation import Body, Id, Moment, Page
from app.models.git_credential import CredentialStatus
from app.models.project import Provider

ALIASES = {"provider_a": Provider.GITHUB, "provider_b": Provider.GITLAB}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ProviderName(fields.Field[Provider]):
    """A provider by its own or its neutral name, in any letter case."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Provider:
        word = value.lower() if isinstance(value, str) else ""
        if word in ALIASES:
            return ALIASES[word]
        try:
            return Provider(word)
        except ValueError as error:
            raise ValidationError("Must be one of: github, gitlab, local.") from error


def _plain_name(value: str) -> None:
    if not NAME.fullmatch(value) or ".." in value or value.lower().endswith((".git", ".lock", ".")):
        raise ValidationError("Use letters, digits, “.”, “_” and “-”, beginning with a letter or digit.")


class NewRepositoryBody(TypedDict):
    """What `NewRepository` loads."""

    provider: Provider
    org_id: str
    name: str


class NewRepository(Body):
    """A local repository to be made for an organization."""

    provider = ProviderName(required=True, validate=validate.Equal(Provider.LOCAL, error="Must be: local."))
    org_id = Id("org", required=True)
    name = fields.String(required=True, validate=_plain_name)


class WhichRepositoriesQuery(TypedDict):
    """What `WhichRepositories` loads."""

    provider: Provider
    search: str | None
    cursor: str | None
    limit: int


class WhichRepositories(Page):
    """Repositories of one provider that the caller can reach."""

    provider = ProviderName(required=True)
    search = fields.String(load_default=None, validate=validate.Length(max=255))


class RepositoryItem(Schema):
    """A repository in a listing (contract 4.8)."""

    id = fields.String()
    full_name = fields.String()
    owner = fields.Function(lambda one: one.full_name.rpartition("/")[0])
    name = fields.Function(lambda one: one.full_name.rpartition("/")[2])
    default_branch = fields.String()
    private = fields.Boolean()
    url = fields.String(allow_none=True)
    updated_at = Moment(allow_none=True)


class AccountObject(Schema):
    """The account at the provider."""

    id = fields.String(attribute="account_id", allow_none=True)
    login = fields.String(attribute="account_login", allow_none=True)
    name = fields.String(attribute="account_name", allow_none=True)


class CredentialObject(Schema):
    """What is told of a stored credential (contract 4.8)."""

    id = fields.String()
    user_id = fields.String()
    provider = fields.Enum(Provider, by_value=True)
    provider_account = fields.Nested(AccountObject, attribute="*")
    token_type = fields.String()
    scopes = fields.List(fields.String())
    installation_id = fields.String(allow_none=True)
    access_token_expires_at = Moment(allow_none=True)
    refresh_token_expires_at = Moment(allow_none=True)
    last_refreshed_at = Moment(allow_none=True)
    status = fields.Enum(CredentialStatus, by_value=True)
    token_hint = fields.String(allow_none=True)
    createdAt = Moment(attribute="created_at")  # noqa: N815 (the contract's name)
    updatedAt = Moment(attribute="updated_at")  # noqa: N815 (the contract's name)

    def get_attribute(self, obj: Any, attr: str, default: Any) -> Any:
        """Let `*` stand for the row itself, whose columns the account's fields read."""
        return obj if attr == "*" else super().get_attribute(obj, attr, default)
