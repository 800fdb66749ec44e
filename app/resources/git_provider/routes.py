"""What a user has connected to reach repositories, and the repositories (spec 4.8); also mounted as `/provider`."""

from collections.abc import Sequence

from flask import Blueprint

from app.core.permissions import Permission
from app.drivers.git.port import Repository
from app.extensions import drivers, vault
from app.http.endpoint import Outcome, Paged, endpoint
from app.http.guards import own_user, permission, verified
from app.http.scope import Scope
from app.models.git_credential import GitCredential
from app.resources.git_provider import connecting, credentials, removal, repositories
from app.resources.git_provider import schemas as s
from app.resources.git_provider.credentials import Grant

blueprint = Blueprint("git_provider", __name__)


def _try(_scope: Scope, body: s.NewCredentialBody) -> Grant:
    return connecting.tried(body, hosts=drivers["git"])


@blueprint.post("/create")
@endpoint(
    guard=verified(), body=s.NewCredential, result=s.CredentialObject, status=201, other_status=200,
    message="Account connected", prepare=_try,
)  # fmt: skip
def create(scope: Scope, body: s.NewCredentialBody, grant: Grant) -> Outcome:
    """Keep tokens that the caller got at a provider; they are tried there first."""
    row, is_new = credentials.store(scope.actor, body["provider"], grant, ring=vault.ring)
    return Outcome(row, 201 if is_new else 200)


@blueprint.post("/rotate")
@endpoint(guard=verified("verifyAuth, own row"), body=s.RotatedPair, result=s.CredentialObject, message="Tokens kept")
def rotate(scope: Scope, body: s.RotatedPairBody) -> GitCredential:
    """Keep a pair of tokens that the caller has renewed."""
    return credentials.rotate(scope.actor, *connecting.rotated(body), ring=vault.ring)


@blueprint.get("/<userId>")
@endpoint(guard=own_user("userId"), result=s.CredentialObject, many=True)
def list_connected(scope: Scope) -> Sequence[GitCredential]:
    """List the providers the user has connected."""
    return credentials.credentials_of(scope.user)


@blueprint.delete("/<id>")
@endpoint(guard=verified(), result=s.RemovedCredential, message="Account disconnected")
def disconnect(scope: Scope) -> dict[str, object]:
    """Forget an account of the caller; its tokens are ended at the provider."""
    return {"id": removal.disconnect_own(scope.actor, scope.path["id"], ring=vault.ring), "deleted": True}


@blueprint.get("/repositories")
@endpoint(guard=verified(), query=s.WhichRepositories, result=s.RepositoryItem, many=True)
def list_repositories(scope: Scope, query: s.WhichRepositoriesQuery) -> Paged:
    """List the repositories that the caller can reach at a provider."""
    return Paged(*repositories.reachable(scope.actor, **query, hosts=drivers["git"]))


def _make(scope: Scope, body: s.NewRepositoryBody) -> Repository:
    return repositories.make(scope.organization, body["name"], hosts=drivers["git"])


@blueprint.post("/repositories")
@endpoint(
    guard=permission(Permission.MANAGE_PROJECTS, in_body=True),
    body=s.NewRepository,
    result=s.RepositoryItem,
    status=201,
    message="Repository created",
    prepare=_make,
)
def create_repository(scope: Scope, _body: s.NewRepositoryBody, made: Repository) -> Repository:
    """Make a local repository for an organization."""
    return repositories.keep(scope.organization, made)
