"""Pages without the prefix of the console: links of mails, and addresses to which Git providers redirect."""

from dataclasses import dataclass
from typing import Annotated

from flask import Blueprint, Response, request
from marshmallow import fields

from app.access.guards import no_authentication, verified
from app.access.scope import Scope
from app.console.blueprint import ROOT
from app.console.shell import errors
from app.console.shell.pages import Page, see_other
from app.extensions import drivers
from app.http.actions import run
from app.http.validation import Length, RequestQuery
from app.resources.git_provider import actions
from app.resources.git_provider.guards import EXCHANGE
from app.resources.git_provider.schemas import ExchangeCodeBody, ExchangeInstallationBody

CONNECTIONS = f"{ROOT}/account/connections?done=account-connected"

blueprint = Blueprint("console_links", __name__)
blueprint.register_error_handler(Exception, errors.handle)
blueprint.after_request(errors.add_headers)


@blueprint.get("/sign-in")
@blueprint.get("/forgot-password", endpoint="forgot_password")
@blueprint.get("/reset-password", endpoint="reset_password")
@blueprint.get("/reset-second-factor", endpoint="reset_second_factor")
@blueprint.get("/invitation", endpoint="invitation")
@Page(guard=no_authentication())
def follow_link(*, scope: Scope) -> Response:
    """Lead to the page of this name in the console."""
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    return Response(status=302, headers={"Location": f"{ROOT}{request.path}{query}", "Cache-Control": "no-store"})


@dataclass(frozen=True, kw_only=True)
class ExchangeQuery(RequestQuery):
    """The parameters that a provider adds to the URL."""

    code: Annotated[str | None, fields.String(load_default=None, validate=Length(max=512))]
    state: Annotated[str | None, fields.String(load_default=None, validate=Length(max=512))]
    installation_id: Annotated[str | None, fields.String(load_default=None, validate=Length(max=40))]


@blueprint.get("/connect/provider_a")
@Page(guard=verified(), query=ExchangeQuery)
def connect_provider_a(*, scope: Scope, query: ExchangeQuery) -> Response:
    """Store the tokens of an installation. The state of the URL belongs to the session of the user."""
    values = vars(ExchangeInstallationBody.loaded({name: value for name, value in vars(query).items() if value}))
    run(lambda scope: actions.exchange_a(scope.user, scope.session, **values, hosts=drivers.git), {}, EXCHANGE)
    return see_other(CONNECTIONS)


@blueprint.get("/connect/provider_b")
@Page(guard=verified(), query=ExchangeQuery)
def connect_provider_b(*, scope: Scope, query: ExchangeQuery) -> Response:
    """Store the tokens of an account. The state of the URL belongs to the session of the user."""
    values = {"code": query.code, "state": query.state}
    body = vars(ExchangeCodeBody.loaded({name: value for name, value in values.items() if value}))
    run(lambda scope: actions.exchange_b(scope.user, scope.session, **body, hosts=drivers.git), {}, EXCHANGE)
    return see_other(CONNECTIONS)
