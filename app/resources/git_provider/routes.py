"""What a user has connected to reach repositories, and the repositories (spec 4.8); also mounted as `/provider`."""

from collections.abc import Sequence

from flask import Blueprint

from app.core.permissions import Permission
from app.drivers.git.port import Repository
from app.extensions import drivers
from app.http.endpoint import Paged, endpoint
from app.http.guards import own_user, permission, verified
from app.http.scope import Scope
from app.models.git_credential import GitCredential
from app.resources.git_provider import repositories, service
from app.resources.git_provider import schemas as s

blueprint = Blueprint("git_provider", __name__)


@blueprint.get("/<userId>")
@endpoint(guard=own_user("userId"), result=s.CredentialObject, many=True)
def list_connected(scope: Scope) -> Sequence[GitCredential]:
    """List the providers the user has connected."""
    return service.credentials_of(scope.user)


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
