"""Pages of API tokens: personal tokens and the service accounts of an organization. A secret is shown once."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from flask import Response
from marshmallow import fields, validate

from app.access.scope import OrganizationScope, Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core import clock
from app.core.api_tokens import TokenScope
from app.extensions import current_settings
from app.http.endpoint import endpoint_of
from app.http.validation import Length, RequestQuery
from app.resources.api_token.routes import service_accounts as accounts
from app.resources.api_token.routes import tokens as own
from app.resources.organization import routes as organizations
from app.resources.project.routes import projects

TOKENS = "/account/tokens"
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
@Page(guard=endpoint_of(own.list_own).guard, query=NewTokenQuery)
def tokens(*, scope: Scope, query: NewTokenQuery) -> Response:
    """List the personal API tokens of the user."""
    mine = api.read(organizations.list_own, status="active")
    reached = [project for organization in mine for project in organization["projects"]]
    return page("account/tokens.html", **_values(api.read(own.list_own), reached), query=query, base=_tokens_url())


@blueprint.post(TOKENS)
@Page(guard=endpoint_of(own.create).guard, inputs=INPUTS, shown_by="tokens")
def create_token(*, scope: Scope, form: Form) -> Response:
    """Create a personal API token and show its secret."""
    return _secret(api.write(own.create, data=_new_token(form)), back=_tokens_url())


@blueprint.post(f"{TOKENS}/rotate")
@Page(guard=endpoint_of(own.list_own).guard, inputs=("token_id",), shown_by="tokens")
def rotate_token(*, scope: Scope, form: Form) -> Response:
    """Replace the secret of a personal API token and show the new one."""
    return _secret(api.write(own.rotate, {"id": form.text("token_id")}), back=_tokens_url())


@blueprint.post(f"{TOKENS}/revoke")
@Page(guard=endpoint_of(own.list_own).guard, inputs=("token_id",), shown_by="tokens")
def revoke_token(*, scope: Scope, form: Form) -> Response:
    """Delete a personal API token, which ends its validity."""
    api.write(own.delete, {"id": form.text("token_id")}, method="DELETE")
    return see_other(f"{_tokens_url()}?done=revoked")


@blueprint.get(ACCOUNTS)
@Page(guard=endpoint_of(accounts.list_all).guard, query=NewTokenQuery)
def service_accounts(*, scope: OrganizationScope, query: NewTokenQuery) -> Response:
    """List the service accounts of an organization."""
    members = api.read(organizations.details, scope.path)["members"]
    reached = api.read(projects.list_of_organization, {"orgId": scope.path["org_id"]}, status="active")
    return page(
        "organization/service_accounts.html",
        **_values(api.read(accounts.list_all, scope.path), reached),
        owners={member["user_id"]: member["full_name"] for member in members if member["user_id"]},
        query=query,
        base=_accounts_url(scope),
    )


@blueprint.post(ACCOUNTS)
@Page(guard=endpoint_of(accounts.create).guard, inputs=INPUTS, shown_by="service_accounts")
def create_service_account(*, scope: OrganizationScope, form: Form) -> Response:
    """Create a service account and show its secret."""
    return _secret(api.write(accounts.create, scope.path, _new_token(form)), back=_accounts_url(scope))


@blueprint.post(f"{ACCOUNTS}/rotate")
@Page(guard=endpoint_of(accounts.list_all).guard, inputs=("token_id",), shown_by="service_accounts")
def rotate_service_account(*, scope: OrganizationScope, form: Form) -> Response:
    """Replace the secret of a service account and show the new one."""
    return _secret(api.write(accounts.rotate, _account_ids(scope, form)), back=_accounts_url(scope))


@blueprint.post(f"{ACCOUNTS}/revoke")
@Page(guard=endpoint_of(accounts.list_all).guard, inputs=("token_id",), shown_by="service_accounts")
def revoke_service_account(*, scope: OrganizationScope, form: Form) -> Response:
    """Delete a service account, which ends its validity."""
    api.write(accounts.delete, _account_ids(scope, form), method="DELETE")
    return see_other(f"{_accounts_url(scope)}?done=revoked")


def _tokens_url() -> str:
    return f"{ROOT}{TOKENS}"


def _accounts_url(scope: Scope) -> str:
    return f"{ROOT}/organizations/{scope.path['org_id']}/service-accounts"


def _account_ids(scope: Scope, form: Form) -> dict[str, str]:
    return {"org_id": scope.path["org_id"], "id": form.text("token_id")}


def _new_token(form: Form) -> dict[str, object]:
    """Return the body of the API. A date stands for the end of that day in UTC."""
    day = form.optional("expires_at")
    return {
        "name": form.text("name"),
        "scopes": list(form.all("scopes")),
        "projects": list(form.all("projects")) if form.text("reach") == "some" else None,
        "expires_at": f"{day}T23:59:59Z" if day else None,
    }


def _values(listed: list[dict[str, object]], reached: list[dict[str, object]]) -> dict[str, Any]:
    """Return the values of a list of tokens and its form. `first_day`, `last_day` and `usual_day` are ISO dates."""
    limits, today = current_settings().limits.tokens, clock.now().date()
    return {
        "tokens": listed,
        "projects": [(project["project_id"], project["project_name"]) for project in reached],
        "first_day": today.isoformat(),
        "last_day": (today + timedelta(days=limits.absolute_s // DAY_S - 1)).isoformat(),
        "usual_day": (today + timedelta(days=limits.default_s // DAY_S)).isoformat(),
    }


def _secret(issued: dict[str, object], *, back: str) -> Response:
    """Return the only page that contains the secret. No cache may store it."""
    response = page("tokens/secret.html", token=issued, back=back)
    response.headers["Cache-Control"] = "no-store"
    return response
