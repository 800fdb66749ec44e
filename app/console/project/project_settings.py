"""The settings of a project."""

from dataclasses import replace

from flask import Response

from app.access import targets
from app.access.guards import Guard, project_permission
from app.access.scope import OrganizationScope, ProjectScope, Scope
from app.console.blueprint import ROOT, blueprint
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.core.permissions import Permission, Role, grants
from app.extensions import drivers
from app.http.actions import DeclaredAction, run
from app.http.validation import RequestBody
from app.models.organization import ArchiveStatus
from app.models.project import Generator
from app.resources.organization import queries as organizations
from app.resources.organization.schemas import ChangeStatusBody
from app.resources.project import actions, guards, queries, service
from app.resources.project import schemas as s

NAMES = {"project_name": "name"} | {f"paths.{name}": name for name in ("content", "media", "public")}
PATHS = ("content", "media", "public")
APPROVALS = tuple(map(str, range(s.MAX_APPROVALS + 1)))


def _ids(scope: Scope) -> dict[str, str]:
    return {"projectId": scope.path["project_id"]}


def _guard(declared: DeclaredAction) -> Guard:
    """Return the guard of a change for the parameter `project_id` of the pages."""
    return replace(declared.guard, find=targets.project("project_id"))


def _update(scope: Scope, body: RequestBody) -> None:
    run(lambda scope: service.update(scope.project, body.sent(), by=scope.caller), _ids(scope), guards.UPDATE)


@blueprint.get(f"{BASE}/settings")
@Page(guard=MEMBER)
def project_settings(*, scope: ProjectScope) -> Response:
    """Show the settings of a project."""
    return page(
        "project/settings.html",
        details=queries.shown(scope.project, scope.index),
        approvals=[(number, _("None") if number == "0" else number) for number in APPROVALS],
        generators=[(str(generator), str(generator).capitalize()) for generator in Generator],
        destinations=_destinations(scope) if grants(scope.role, Permission.DELETE_ORG) else [],
    )


def _destinations(scope: OrganizationScope) -> list[tuple[str, str]]:
    """Return the other organizations of the owner, to which the project can be moved."""
    own = organizations.of_user(scope.caller, status=ArchiveStatus.ACTIVE)
    others = (
        membership
        for membership in own
        if membership["role"] == Role.OWNER and membership["org_id"] != scope.organization.id
    )
    return [(str(other["org_id"]), str(other["org_name"])) for other in others]


@blueprint.post(f"{BASE}/settings")
@Page(
    guard=_guard(guards.UPDATE),
    inputs=("name", "site_url", "generator", "visibility", "preview_network", "build_change_sets", *PATHS),
    shown_by="project_settings",
    names=NAMES,
)
def change_project(*, scope: ProjectScope, form: Form) -> Response:
    """Change name, address, generator, folders, the label of the site, and the settings of previews and builds."""
    paths = {name: form.text(name).strip("/") for name in PATHS}
    data = {
        "project_name": form.text("name"),
        "site_url": form.optional("site_url"),
        "paths": paths,
        "preview_network": form.is_checked("preview_network"),
        "build_change_sets": form.is_checked("build_change_sets"),
    }
    _update(scope, s.UpdateProjectBody.loaded(data, is_change=True))
    _update(scope, s.ChangeGeneratorBody.loaded({"generator": form.optional("generator")}, is_change=True))
    _update(scope, s.ChangeVisibilityBody.loaded(form.texts("visibility"), is_change=True))
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/settings/publishing")
@Page(
    guard=_guard(guards.UPDATE),
    inputs=("publishers", "required_approvals", "guest_approval", "require_change_sets", "change_set_prefix"),
    shown_by="project_settings",
)
def change_publishing(*, scope: ProjectScope, form: Form) -> Response:
    """Change who publishes, the number of approvals, and whether each edit of the site is reviewed first."""
    approvals = form.text("required_approvals")
    data = {
        "publishers": form.text("publishers"),
        "required_approvals": int(approvals) if approvals in APPROVALS else approvals,
        "guest_approval": form.is_checked("guest_approval"),
        "require_change_sets": form.is_checked("require_change_sets"),
        "change_set_prefix": form.text("change_set_prefix"),
    }
    _update(scope, s.UpdateProjectBody.loaded(data, is_change=True))
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/status")
@Page(guard=_guard(guards.SET_STATUS), inputs=("status",), shown_by="project_settings")
def change_project_status(*, scope: ProjectScope, form: Form) -> Response:
    """Archive the project or make it active."""
    new = ChangeStatusBody.loaded(form.texts("status"), is_change=True).status
    run(lambda scope: service.set_status(scope.project, scope.organization, new), _ids(scope), guards.SET_STATUS)
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/delete-project")
@Page(guard=_guard(guards.DELETE), inputs=(), shown_by="project_settings")
def delete_project(*, scope: ProjectScope, form: Form) -> Response:
    """Delete the project. The repository stays."""
    run(lambda scope: service.delete(scope.project), _ids(scope), guards.DELETE)
    return see_other(f"{ROOT}/organizations/{scope.organization.id}?done=deleted")


@blueprint.post(f"{BASE}/connection")
@Page(guard=_guard(guards.CONNECT), inputs=("repository", "branch"), shown_by="project_settings")
def change_connection(*, scope: ProjectScope, form: Form) -> Response:
    """Change the repository or the branch, or connect the same repository again."""
    new, hosts = s.ChangeConnectionBody.loaded(form.texts("repository", "branch"), is_change=True).sent(), drivers.git
    run(lambda scope: actions.connect(scope.project, new, hosts=hosts, by=scope.user), _ids(scope), guards.CONNECT)
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/move-project")
@Page(
    guard=project_permission(Permission.DELETE_ORG, "project_id"), inputs=("destination",), shown_by="project_settings"
)
def move_project(*, scope: ProjectScope, form: Form) -> Response:
    """Move the project to another organization of the same owner."""
    run(
        lambda scope: service.move(scope.project, scope.organization, scope.destination, by=scope.user),
        _ids(scope) | {"orgId": form.text("destination")},
        guards.MOVE,
    )
    return see_other(project_url(scope, "/settings?done=moved"))
