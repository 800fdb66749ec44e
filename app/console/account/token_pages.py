"""Pages of API tokens: personal tokens and the service accounts of an organization. A secret is shown once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

from flask import Response
from marshmallow import fields, validate

from app.access.scope import OrganizationScope, Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core import clock
from app.core.api_tokens import TokenScope
from app.extensions import current_settings
from app.http.actions import DeclaredAction, Ids, run
from app.http.loading import instance, load
from app.http.validation import Length, RequestQuery
from app.models.login import ApiToken
from app.models.organization import ArchiveStatus
from app.resources.api_token import guards, service
from app.resources.api_token.schemas import ApiTokenSchema, CreateTokenBody, IssuedTokenSchema
from app.resources.api_token.service import IssuedToken
from app.resources.organization import queries as organizations
from app.resources.project import queries as projects

TOKENS = "/account/tokens"
TOKENS_URL = f"{ROOT}{TOKENS}"
ACCOUNTS = "/organizations/<org_id>/service-accounts"
DAY_S = 86_400
SCOPES = [str(token_scope) for token_scope in TokenScope]
INPUTS = ("name", "scopes", "reach", "projects", "expires_at")


@dataclass(frozen=True, kw_only=True)
class NewTokenQuery(RequestQuery):
    """The rights and the project that the form of a new token selects. Without a project, it selects all projects."""

    scopes: Annotated[
        list[str],
        fields.List(fields.String(validate=validate.OneOf(SCOPES)), load_default=lambda: [str(TokenScope.READ)]),
    ]
    project: Annotated[str, fields.String(load_default="", validate=Length(max=40))]

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Divide the scopes at commas."""
        return data | {"scopes": str(data["scopes"]).split(",")} if "scopes" in data else data


@blueprint.get(TOKENS)
@Page(guard=guards.CREATE.guard, query=NewTokenQuery)
def tokens(*, scope: Scope, query: NewTokenQuery) -> Response:
    """List the personal API tokens of the user."""
    mine: Any = organizations.of_user(scope.caller, status=ArchiveStatus.ACTIVE)
    reached = [project for organization in mine for project in organization["projects"]]
    values = _values(service.of_user(scope.caller.id), reached)
    return page("account/tokens.html", **values, query=query, base=TOKENS_URL)


@blueprint.post(TOKENS)
@Page(guard=guards.CREATE.guard, inputs=INPUTS, shown_by="tokens")
def create_token(*, scope: Scope, form: Form) -> Response:
    """Create a personal API token and show its secret."""
    return _create(form, {}, guards.CREATE, back=TOKENS_URL)


@blueprint.post(f"{TOKENS}/rotate")
@Page(guard=guards.CREATE.guard, inputs=("token_id",), shown_by="tokens")
def rotate_token(*, scope: Scope, form: Form) -> Response:
    """Replace the secret of a personal API token and show the new one."""
    return _rotate({"id": form.text("token_id")}, guards.ROTATE, back=TOKENS_URL)


@blueprint.post(f"{TOKENS}/revoke")
@Page(guard=guards.CREATE.guard, inputs=("token_id",), shown_by="tokens")
def revoke_token(*, scope: Scope, form: Form) -> Response:
    """Delete a personal API token, which ends its validity."""
    run(lambda scope: service.delete(scope.token), {"id": form.text("token_id")}, guards.DELETE)
    return see_other(f"{TOKENS_URL}?done=revoked")


@blueprint.get(ACCOUNTS)
@Page(guard=guards.CREATE_ACCOUNT.guard, query=NewTokenQuery)
def service_accounts(*, scope: OrganizationScope, query: NewTokenQuery) -> Response:
    """List the service accounts of an organization."""
    details: Any = organizations.details(scope.organization, viewer=scope.caller)
    reached = projects.of_organization(scope.organization.id, user=scope.caller, status=ArchiveStatus.ACTIVE)
    return page(
        "organization/service_accounts.html",
        **_values(service.of_organization(scope.organization.id), reached),
        owners={member["user_id"]: member["full_name"] for member in details["members"] if member["user_id"]},
        query=query,
        base=_accounts_url(scope),
    )


@blueprint.post(ACCOUNTS)
@Page(guard=guards.CREATE_ACCOUNT.guard, inputs=INPUTS, shown_by="service_accounts")
def create_service_account(*, scope: OrganizationScope, form: Form) -> Response:
    """Create a service account and show its secret."""
    return _create(form, scope.path, guards.CREATE_ACCOUNT, back=_accounts_url(scope))


@blueprint.post(f"{ACCOUNTS}/rotate")
@Page(guard=guards.CREATE_ACCOUNT.guard, inputs=("token_id",), shown_by="service_accounts")
def rotate_service_account(*, scope: OrganizationScope, form: Form) -> Response:
    """Replace the secret of a service account and show the new one."""
    return _rotate(_account_ids(scope, form), guards.ROTATE_ACCOUNT, back=_accounts_url(scope))


@blueprint.post(f"{ACCOUNTS}/revoke")
@Page(guard=guards.CREATE_ACCOUNT.guard, inputs=("token_id",), shown_by="service_accounts")
def revoke_service_account(*, scope: OrganizationScope, form: Form) -> Response:
    """Delete a service account, which ends its validity."""
    run(lambda scope: service.delete(scope.token), _account_ids(scope, form), guards.DELETE_ACCOUNT)
    return see_other(f"{_accounts_url(scope)}?done=revoked")


def _accounts_url(scope: Scope) -> str:
    return f"{ROOT}/organizations/{scope.path['org_id']}/service-accounts"


def _account_ids(scope: Scope, form: Form) -> dict[str, str]:
    return {"org_id": scope.path["org_id"], "id": form.text("token_id")}


def _create(form: Form, ids: Ids, declared: DeclaredAction, *, back: str) -> Response:
    """Create a token of the user, or a service account of the organization. A date is the end of that day in UTC."""
    day = form.optional("expires_at")
    data = {
        "name": form.text("name"),
        "scopes": list(form.all("scopes")),
        "projects": list(form.all("projects")) if form.text("reach") == "some" else None,
        "expires_at": f"{day}T23:59:59Z" if day else None,
    }
    values: Any = load(CreateTokenBody, data, is_change=False)
    create = partial(service.create, values, limits=current_settings().limits.tokens)
    issued = run(lambda scope: create(by=scope.user, organization=scope.organization), ids, declared)
    return _secret(issued, back=back)


def _rotate(ids: Ids, declared: DeclaredAction, *, back: str) -> Response:
    rotate = partial(service.rotate, limits=current_settings().limits.tokens)
    issued = run(lambda scope: rotate(scope.token, by=scope.user, organization=scope.organization), ids, declared)
    return _secret(issued, back=back)


def _values(listed: Sequence[ApiToken], reached: list[dict[str, object]]) -> dict[str, Any]:
    """Return the values of a list of tokens and its form. `first_day`, `last_day` and `usual_day` are ISO dates."""
    limits, today = current_settings().limits.tokens, clock.now().date()
    return {
        "tokens": instance(ApiTokenSchema, many=True).dump(listed),
        "projects": [(project["project_id"], project["project_name"]) for project in reached],
        "first_day": today.isoformat(),
        "last_day": (today + timedelta(days=limits.absolute_s // DAY_S - 1)).isoformat(),
        "usual_day": (today + timedelta(days=limits.default_s // DAY_S)).isoformat(),
    }


def _secret(issued: IssuedToken, *, back: str) -> Response:
    """Return the only page that contains the secret."""
    return page("tokens/secret.html", is_secret=True, token=instance(IssuedTokenSchema).dump(issued), back=back)
