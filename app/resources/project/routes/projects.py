"""Routes of projects and their branches (spec 4.6)."""

from app.access.guards import own_user, roles
from app.access.scope import MoveScope, OrganizationScope, ProjectScope, UserScope
from app.access.tokens import READS
from app.core.outbound import UnrecordedAct
from app.core.permissions import Role
from app.drivers.git.port import Branch
from app.extensions import drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, GIT_WRITE, PageResult, endpoint
from app.http.results import page_of
from app.http.validation import ListQuery
from app.resources.organization.schemas import ChangeStatusBody, StatusQuery
from app.resources.project import actions, branches, guards, queries, service
from app.resources.project import schemas as s
from app.resources.project.repository_access import BranchRef

EVERYONE = (Role.OWNER, Role.ADMIN, Role.EDITOR)


blueprint = ApiBlueprint(
    "project",
    __name__,
    title="Projects",
    noun="project",
    description="Repositories that are edited as sites, and their branches.",
    parameters={
        "name": "The name of a branch. It may contain slashes.",
        "status": "Only objects with this status.",
    },
)


@blueprint.get("/<projectId>")
@endpoint(guard=roles(*EVERYONE, project="projectId"), result=s.ProjectSchema)
def details(*, scope: ProjectScope) -> queries.Shown:
    """Read the metadata, settings and connection of a project."""
    return queries.shown(scope.project, scope.index)


@blueprint.get("/orgs/<orgId>")
@endpoint(
    operation_id="listOrganizationProjects",
    guard=roles(*EVERYONE, organization="orgId"),
    query=s.ActiveProjectsQuery,
    result=s.ProjectSchema,
    many=True,
)
def list_of_organization(*, scope: OrganizationScope, query: s.ActiveProjectsQuery) -> PageResult:
    """List the projects of an organization that the caller sees, the active ones by default."""
    return _page(queries.of_organization(scope.organization.id, user=scope.caller, status=query.status), query)


@blueprint.get("/user/<userId>")
@endpoint(
    operation_id="listUserProjects",
    guard=own_user("userId", or_platform_admin=True, token=READS),
    query=StatusQuery,
    result=s.ProjectSchema,
    many=True,
)
def list_of_user(*, scope: UserScope, query: StatusQuery) -> PageResult:
    """List the projects of all organizations that the user owns."""
    return _page(queries.of_owner(scope.target_id, status=query.status), query)


def _page(projects: list[queries.Shown], query: ListQuery) -> PageResult:
    return page_of(projects, query, kind="projects", key=lambda project: str(project["project_id"]))


@blueprint.post("/create")
@endpoint(
    **vars(guards.CREATE),
    body=s.CreateProjectBody,
    result=s.ProjectSchema,
    status=201,
    message="Project created",
    errors=("NAME_TAKEN", "LIMIT_REACHED", *GIT_READ),
)
def create(*, scope: OrganizationScope, body: s.CreateProjectBody) -> UnrecordedAct[queries.Shown]:
    """Connect a repository as a new project."""
    target = BranchRef(body.provider, body.repository, body.repository_id, body.branch)
    return actions.create_on_branch(scope.organization, target, body.sent(), hosts=drivers.git, by=scope.user)


@blueprint.patch("/<projectId>")
@endpoint(
    **vars(guards.UPDATE),
    body=s.UpdateProjectBody,
    result=s.ProjectSchema,
    message="Project updated",
    errors=("NAME_TAKEN",),
)
def update(*, scope: ProjectScope, body: s.UpdateProjectBody) -> queries.Shown:
    """Change name, image, address, framework or paths."""
    return queries.shown(service.update(scope.project, body.sent(), by=scope.caller), scope.index)


@blueprint.patch("/visibility/<projectId>")
@endpoint(
    **vars(guards.UPDATE),
    body=s.ChangeVisibilityBody,
    result=s.ProjectSchema,
    message="Visibility updated",
)
def set_visibility(*, scope: ProjectScope, body: s.ChangeVisibilityBody) -> queries.Shown:
    """Label the published site public or private. The label changes no access to this service."""
    return queries.shown(service.update(scope.project, body.sent(), by=scope.caller), scope.index)


@blueprint.patch("/status/<projectId>")
@endpoint(
    **vars(guards.SET_STATUS),
    body=ChangeStatusBody,
    result=s.ProjectSchema,
    message="Status updated",
    errors=("LIMIT_REACHED",),
)
def set_status(*, scope: ProjectScope, body: ChangeStatusBody) -> queries.Shown:
    """Archive or activate the project."""
    return queries.shown(service.set_status(scope.project, scope.organization, body.status), scope.index)


@blueprint.patch("/generator/<projectId>")
@endpoint(
    **vars(guards.UPDATE),
    body=s.ChangeGeneratorBody,
    result=s.ProjectSchema,
    message="Generator updated",
)
def set_generator(*, scope: ProjectScope, body: s.ChangeGeneratorBody) -> queries.Shown:
    """Set the static site generator."""
    return queries.shown(service.update(scope.project, body.sent(), by=scope.caller), scope.index)


@blueprint.patch("/git/<projectId>")
@endpoint(
    **vars(guards.CONNECT),
    body=s.ChangeConnectionBody,
    result=s.ProjectSchema,
    message="Repository updated",
    errors=GIT_READ,
)
def set_connection(*, scope: ProjectScope, body: s.ChangeConnectionBody) -> UnrecordedAct[queries.Shown]:
    """Change, renew or remove the connection to a repository and working branch."""
    return actions.connect(scope.project, body.sent(), hosts=drivers.git, by=scope.user)


@blueprint.patch("/move/<orgId>/<projectId>")
@endpoint(
    **vars(guards.MOVE),
    result=s.ProjectSchema,
    message="Project moved",
    errors=("OWNER_CHANGED", "NAME_TAKEN", "LIMIT_REACHED", "ARCHIVED"),
)
def move(*, scope: MoveScope) -> queries.Shown:
    """Move the project to another organization of the same owner."""
    moved = service.move(scope.project, scope.organization, scope.destination, by=scope.user)
    return queries.shown(moved, scope.index)


@blueprint.delete("/<projectId>")
@endpoint(
    **vars(guards.DELETE),
    result=s.DeletedProjectSchema,
    message="Project deleted",
)
def delete(*, scope: ProjectScope) -> dict[str, object]:
    """Delete the project. Its repository stays."""
    return {"project_id": service.delete(scope.project), "deleted": True}


@blueprint.get("/<projectId>/branches")
@endpoint(
    guard=roles(*EVERYONE, project="projectId"), query=ListQuery, result=s.BranchSchema, many=True, errors=GIT_READ
)
def list_branches(*, scope: ProjectScope, query: ListQuery) -> PageResult:
    """List the branches of the project's repository."""
    rows = branches.list_all(scope.project, hosts=drivers.git, user=scope.caller)
    return page_of(rows, query, kind="branches", key=lambda branch: branch.name)


@blueprint.post("/<projectId>/branches")
@endpoint(
    guard=roles(*EVERYONE, project="projectId"),
    body=s.CreateBranchBody,
    result=s.BranchSchema,
    status=201,
    message="Branch created",
    outside=True,
    errors=GIT_WRITE,
)
def create_branch(*, scope: ProjectScope, body: s.CreateBranchBody) -> Branch:
    """Create a branch in the project's repository."""
    return branches.create(scope.project, body.branch, body.start, hosts=drivers.git, user=scope.caller)


@blueprint.delete("/<projectId>/branches/<path:name>")
@endpoint(
    guard=roles(*EVERYONE, project="projectId"),
    result=s.DeletedBranchSchema,
    message="Branch deleted",
    outside=True,
    errors=("WORKING_BRANCH", "DEFAULT_BRANCH", *GIT_WRITE),
)
def delete_branch(*, scope: ProjectScope) -> UnrecordedAct[dict[str, object]]:
    """Delete a branch of the project's repository. A working branch and the default branch are 409."""
    return branches.delete(scope.project, scope.path["name"], hosts=drivers.git, user=scope.caller)
