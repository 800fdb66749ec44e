"""The settings of a project."""

from dataclasses import replace

from flask import Response

from app.access import targets
from app.access.guards import Guard, project_permission
from app.access.scope import OrganizationScope, ProjectScope, Scope
from app.console.blueprint import ROOT, blueprint
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.core.permissions import Permission, Role, grants
from app.http.endpoint import endpoint_of
from app.models.project import Generator
from app.resources.organization import routes as organizations
from app.resources.project.routes import projects
from app.resources.project.schemas import MAX_APPROVALS

NAMES = {"project_name": "name"} | {f"paths.{name}": name for name in ("content", "media", "public")}
PATHS = ("content", "media", "public")
APPROVALS = tuple(map(str, range(MAX_APPROVALS + 1)))


def _ids(scope: Scope) -> dict[str, str]:
    return {"projectId": scope.path["project_id"]}


def _guard(view: api.View) -> Guard:
    """Return the guard of a project route for the parameter `project_id` of the pages."""
    guard = endpoint_of(view).guard
    return replace(guard, find=targets.project("project_id"))


@blueprint.get(f"{BASE}/settings")
@Page(guard=MEMBER)
def project_settings(*, scope: ProjectScope) -> Response:
    """Show the settings of a project."""
    details = api.read(projects.details, _ids(scope))
    return page(
        "project/settings.html",
        details=details,
        approvals=[(number, _("None") if number == "0" else number) for number in APPROVALS],
        generators=[(str(generator), str(generator).capitalize()) for generator in Generator],
        destinations=_destinations(scope) if grants(scope.role, Permission.DELETE_ORG) else [],
    )


def _destinations(scope: OrganizationScope) -> list[tuple[str, str]]:
    """Return the other organizations of the owner, to which the project can be moved."""
    own = api.read(organizations.list_own, status="active")
    others = (
        membership
        for membership in own
        if membership["role"] == Role.OWNER and membership["org_id"] != scope.organization.id
    )
    return [(other["org_id"], other["org_name"]) for other in others]


@blueprint.post(f"{BASE}/settings")
@Page(
    guard=_guard(projects.update),
    inputs=("name", "site_url", "generator", "visibility", "preview_network", *PATHS),
    shown_by="project_settings",
    names=NAMES,
)
def change_project(*, scope: ProjectScope, form: Form) -> Response:
    """Change name, address, generator, folders, the label of the site and the network access of its previews."""
    paths = {name: form.text(name).strip("/") for name in PATHS}
    data = {
        "project_name": form.text("name"),
        "site_url": form.optional("site_url"),
        "paths": paths,
        "preview_network": form.is_checked("preview_network"),
    }
    api.write(projects.update, _ids(scope), data, method="PATCH")
    api.write(projects.set_generator, _ids(scope), {"generator": form.optional("generator")}, method="PATCH")
    api.write(projects.set_visibility, _ids(scope), form.texts("visibility"), method="PATCH")
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/settings/publishing")
@Page(
    guard=_guard(projects.update),
    inputs=("publishers", "required_approvals", "require_change_sets", "change_set_prefix"),
    shown_by="project_settings",
)
def change_publishing(*, scope: ProjectScope, form: Form) -> Response:
    """Change who publishes, the number of approvals, and whether each edit of the site is reviewed first."""
    approvals = form.text("required_approvals")
    data = {
        "publishers": form.text("publishers"),
        "required_approvals": int(approvals) if approvals in APPROVALS else approvals,
        "require_change_sets": form.is_checked("require_change_sets"),
        "change_set_prefix": form.text("change_set_prefix"),
    }
    api.write(projects.update, _ids(scope), data, method="PATCH")
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/status")
@Page(guard=_guard(projects.set_status), inputs=("status",), shown_by="project_settings")
def change_project_status(*, scope: ProjectScope, form: Form) -> Response:
    """Archive the project or make it active."""
    api.write(projects.set_status, _ids(scope), {"status": form.text("status")}, method="PATCH")
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/delete-project")
@Page(guard=_guard(projects.delete), inputs=(), shown_by="project_settings")
def delete_project(*, scope: ProjectScope, form: Form) -> Response:
    """Delete the project. The repository stays."""
    api.write(projects.delete, _ids(scope), method="DELETE")
    return see_other(f"{ROOT}/organizations/{scope.organization.id}?done=deleted")


@blueprint.post(f"{BASE}/connection")
@Page(guard=_guard(projects.set_connection), inputs=("repository", "branch"), shown_by="project_settings")
def change_connection(*, scope: ProjectScope, form: Form) -> Response:
    """Change the repository or the branch, or connect the same repository again."""
    api.write(projects.set_connection, _ids(scope), form.texts("repository", "branch"), method="PATCH")
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/move-project")
@Page(
    guard=project_permission(Permission.DELETE_ORG, "project_id"), inputs=("destination",), shown_by="project_settings"
)
def move_project(*, scope: ProjectScope, form: Form) -> Response:
    """Move the project to another organization of the same owner."""
    api.write(projects.move, _ids(scope) | {"orgId": form.text("destination")}, method="PATCH")
    return see_other(project_url(scope, "/settings?done=moved"))
