"""Projects (spec 4.6): a repository's branch, connected to an organization."""

from collections.abc import Sequence
from typing import Any

from flask import Blueprint

from app.core.permissions import Permission, Role
from app.drivers.git.port import Branch
from app.extensions import drivers
from app.http.endpoint import endpoint
from app.http.guards import moves_project, own_user, project_permission, roles, roles_in_body
from app.http.scope import Scope
from app.resources.project import branches, connecting, reading, service
from app.resources.project import schemas as s
from app.resources.project.preparation import Prepared, prepare_connection, prepare_project
from app.resources.user.allowances import limits_of

blueprint = Blueprint("project", __name__)

MANAGERS = (Role.OWNER, Role.ADMIN)
EVERYONE = (Role.OWNER, Role.ADMIN, Role.EDITOR)
CURRENT = "project.details"


@blueprint.get("/<projectId>")
@endpoint(guard=roles(*EVERYONE, project="projectId"), result=s.ProjectObject)
def details(scope: Scope) -> reading.Shown:
    """Tell a project's metadata, settings and connection."""
    return reading.shown(scope.project, scope.index)


@blueprint.get("/orgs/<orgId>")
@endpoint(guard=roles(*EVERYONE, organization="orgId"), query=s.WhichProjects, result=s.ProjectObject, many=True)
def list_of_organization(scope: Scope, query: s.WhichProjectsQuery) -> list[reading.Shown]:
    """List the projects of an organization: the active ones, unless it is said otherwise."""
    return reading.of_organization(scope.organization, **query)


@blueprint.get("/user/<userId>")
@endpoint(guard=own_user("userId", or_platform_admin=True), query=s.AllProjects, result=s.ProjectObject, many=True)
def list_of_user(scope: Scope, query: s.WhichProjectsQuery) -> list[reading.Shown]:
    """List the projects of all organizations that the user owns."""
    return reading.of_owner(scope.user, **query)


@blueprint.post("/create")
@endpoint(
    guard=roles_in_body(*MANAGERS, organization="org_id"),
    body=s.NewProject,
    result=s.ProjectObject,
    status=201,
    message="Project created",
    prepare=prepare_project,
    rate="project_create",
)
def create(scope: Scope, _body: dict[str, Any], prepared: Prepared) -> reading.Shown:
    """Connect a repository as a new project."""
    limits = limits_of(scope.organization.owner_id)
    return reading.anew(
        service.create(scope.organization, prepared.values, prepared.reached, by=scope.actor, limits=limits)
    )


@blueprint.patch("/<projectId>")
@endpoint(
    guard=roles(*MANAGERS, project="projectId"),
    body=s.ChangeProject,
    result=s.ProjectObject,
    current=CURRENT,
    message="Project updated",
)
def update(scope: Scope, body: dict[str, Any]) -> reading.Shown:
    """Change name, image, address, framework or paths."""
    return reading.shown(service.update(scope.project, body, by=scope.actor), scope.index)


@blueprint.patch("/visibility/<projectId>")
@endpoint(
    guard=roles(*MANAGERS, project="projectId"),
    body=s.ChangeVisibility,
    result=s.ProjectObject,
    current=CURRENT,
    message="Visibility updated",
)
def set_visibility(scope: Scope, body: dict[str, Any]) -> reading.Shown:
    """Label the published site public or private; opens nothing in this service."""
    return reading.shown(service.update(scope.project, body, by=scope.actor), scope.index)


@blueprint.patch("/status/<projectId>")
@endpoint(
    guard=roles(*MANAGERS, project="projectId"),
    body=s.ChangeStatus,
    result=s.ProjectObject,
    archived_too=True,
    current=CURRENT,
    message="Status updated",
)
def set_status(scope: Scope, body: s.ChangeStatusBody) -> reading.Shown:
    """Archive the project or make it active."""
    limits = limits_of(scope.organization.owner_id)
    changed = service.set_status(scope.project, scope.organization, body["status"], limits=limits)
    return reading.shown(changed, scope.index)


@blueprint.patch("/generator/<projectId>")
@endpoint(
    guard=roles(*MANAGERS, project="projectId"),
    body=s.ChangeGenerator,
    result=s.ProjectObject,
    current=CURRENT,
    message="Generator updated",
)
def set_generator(scope: Scope, body: dict[str, Any]) -> reading.Shown:
    """Set the static site generator."""
    return reading.shown(service.update(scope.project, body, by=scope.actor), scope.index)


@blueprint.patch("/git/<projectId>")
@endpoint(
    guard=roles(*MANAGERS, project="projectId"),
    body=s.ChangeConnection,
    result=s.ProjectObject,
    current=CURRENT,
    message="Repository updated",
    prepare=prepare_connection,
)
def set_connection(scope: Scope, _body: dict[str, Any], reached: connecting.Reached | None) -> reading.Shown:
    """Change, renew or end the connection to a repository and working branch."""
    return reading.anew(service.connect(scope.project, reached, by=scope.actor))


@blueprint.patch("/move/<orgId>/<projectId>")
@endpoint(
    guard=moves_project("projectId", "orgId"),
    result=s.ProjectObject,
    archived_too=True,
    current=CURRENT,
    message="Project moved",
)
def move(scope: Scope) -> reading.Shown:
    """Move the project to another organization of its owner."""
    limits = limits_of(scope.destination.owner_id)
    service.move(scope.project, scope.organization, scope.destination, by=scope.actor, limits=limits)
    return reading.shown(scope.project, scope.index)


@blueprint.delete("/<projectId>")
@endpoint(
    guard=project_permission(Permission.MANAGE_PROJECTS),
    result=s.DeletedProject,
    archived_too=True,
    current=CURRENT,
    message="Project deleted",
)
def delete(scope: Scope) -> dict[str, object]:
    """Delete the project; its repository stays."""
    return {"project_id": service.delete(scope.project), "deleted": True}


@blueprint.get("/<projectId>/branches")
@endpoint(guard=roles(*EVERYONE, project="projectId"), result=s.BranchObject, many=True)
def list_branches(scope: Scope) -> Sequence[Branch]:
    """List the branches of the project's repository."""
    return branches.list_all(scope.project, hosts=drivers["git"], actor=scope.actor)


def _create_branch(scope: Scope, body: s.NewBranchBody) -> Branch:
    return branches.create(scope.project, body["branch"], body["start"], hosts=drivers["git"], actor=scope.actor)


@blueprint.post("/<projectId>/branches")
@endpoint(
    guard=roles(*EVERYONE, project="projectId"),
    body=s.NewBranch,
    result=s.BranchObject,
    status=201,
    message="Branch created",
    prepare=_create_branch,
)
def create_branch(_scope: Scope, _body: s.NewBranchBody, made: Branch) -> Branch:
    """Make a branch in the project's repository."""
    return made
