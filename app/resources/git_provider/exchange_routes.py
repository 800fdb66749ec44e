"""Connecting an account of a Git host (spec 4.12): the way out, the exchange of its code, and renewing its tokens."""

from flask import Blueprint

from app.core.limits import InputLimits
from app.extensions import vault
from app.http.endpoint import endpoint
from app.http.guards import verified
from app.http.scope import Scope
from app.models.git_credential import GitCredential
from app.models.project import Provider
from app.resources.git_provider import credentials
from app.resources.git_provider import exchange_flow as flow
from app.resources.git_provider.attempts import Attempt
from app.resources.git_provider.credentials import Grant
from app.resources.git_provider.exchange_schemas import (
    Code,
    CodeBody,
    InstallationCode,
    InstallationCodeBody,
    Start,
    StartBody,
    Started,
)
from app.resources.git_provider.schemas import CredentialObject

blueprint = Blueprint("git_exchange", __name__)

MAX_BYTES = InputLimits.auth_bytes


@blueprint.post("/provider_a/start")
@endpoint(
    guard=verified(), result=Started, message="Go on at the provider", prepare=flow.start_a, max_bytes=MAX_BYTES,
    rate="provider_exchange",
)  # fmt: skip
def start_a(scope: Scope, planned: tuple[Attempt, str]) -> dict[str, str]:
    """Begin to connect an installation: the address to send the browser to."""
    return flow.keep(scope, flow.A, *planned)


@blueprint.post("/provider_b/start")
@endpoint(
    guard=verified(), body=Start, result=Started, message="Go on at the provider", prepare=flow.start_b,
    max_bytes=MAX_BYTES, rate="provider_exchange",
)  # fmt: skip
def start_b(scope: Scope, _body: StartBody, planned: tuple[Attempt, str]) -> dict[str, str]:
    """Begin to connect an account: the address to send the browser to."""
    return flow.keep(scope, flow.B, *planned)


@blueprint.post("/provider_a")
@endpoint(
    guard=verified("verifyAuth + state"), body=InstallationCode, query=InstallationCode, result=CredentialObject,
    message="Account connected", prepare=flow.exchange_a, max_bytes=MAX_BYTES, rate="provider_exchange",
)  # fmt: skip
def exchange_a(scope: Scope, _body: InstallationCodeBody, _query: InstallationCodeBody, grant: Grant) -> GitCredential:
    """Exchange an installation's code and keep the tokens."""
    return credentials.store(scope.actor, Provider.GITHUB, grant, ring=vault.ring)[0]


@blueprint.post("/provider_b")
@endpoint(
    guard=verified("verifyAuth + state"), body=Code, result=CredentialObject, message="Account connected",
    prepare=flow.exchange_b, max_bytes=MAX_BYTES, rate="provider_exchange",
)  # fmt: skip
def exchange_b(scope: Scope, _body: CodeBody, grant: Grant) -> GitCredential:
    """Exchange an authorization code and keep the tokens."""
    return credentials.store(scope.actor, Provider.GITLAB, grant, ring=vault.ring)[0]


def _refresh_a(scope: Scope) -> str:
    return flow.refresh(scope, Provider.GITHUB)


def _refresh_b(scope: Scope) -> str:
    return flow.refresh(scope, Provider.GITLAB)


@blueprint.post("/provider_a/refresh")
@endpoint(
    guard=verified(), result=CredentialObject, message="Tokens renewed", prepare=_refresh_a, max_bytes=MAX_BYTES,
    rate="provider_refresh",
)  # fmt: skip
def refresh_a(scope: Scope, _renewed: str) -> GitCredential:
    """Renew the caller's tokens and the installation's."""
    return credentials.own(scope.actor, Provider.GITHUB)


@blueprint.post("/provider_b/refresh")
@endpoint(
    guard=verified(), result=CredentialObject, message="Tokens renewed", prepare=_refresh_b, max_bytes=MAX_BYTES,
    rate="provider_refresh",
)  # fmt: skip
def refresh_b(scope: Scope, _renewed: str) -> GitCredential:
    """Renew the caller's tokens."""
    return credentials.own(scope.actor, Provider.GITLAB)
