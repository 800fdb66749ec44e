"""The settings of a project."""

from dataclasses import replace

from flask import Response

from app.access import targets
from app.access.guards import Guard
from app.access.scope import Scope
from app.console import api
from app.console.blueprint import ROOT, blueprint
from app.console.forms import Form
from app.console.pages import Page, see_other
from app.console.project_home import BASE, MEMBER, project_url
from app.console.rendering import page
from app.models.project import Generator
from app.resources.project.routes import projects

NAMES = {"project_name": "name"} | {f"paths.{name}": name for name in ("content", "media", "public")}
PATHS = ("content", "media", "public")


def _ids(scope: Scope) -> dict[str, str]:
    return {"projectId": scope.path["project_id"]}


def _guard(view: api.View) -> Guard:
    """Return the guard of a project route for the parameter `project_id` of the pages."""
    guard = api.guard_of(view)
    return replace(guard, find=targets.project("project_id"))


@blueprint.get(f"{BASE}/settings")
@Page(guard=MEMBER)
def project_settings(*, scope: Scope) -> Response:
    """Show the settings of a project."""
    details = api.read(projects.details, _ids(scope))
    return page(
        "project/settings.html", details=details, generators=[(str(one), str(one).capitalize()) for one in Generator]
    )


@blueprint.post(f"{BASE}/settings")
@Page(guard=_guard(projects.update), takes_form=True, shown_by="project_settings", names=NAMES)
def change_project(*, scope: Scope, form: Form) -> Response:
    """Change name, address and folders."""
    paths = {name: form.text(name).strip("/") for name in PATHS}
    data = {"project_name": form.text("name"), "site_url": form.optional("site_url"), "paths": paths}
    api.write(projects.update, _ids(scope), data, method="PATCH")
    api.write(projects.set_generator, _ids(scope), {"generator": form.optional("generator")}, method="PATCH")
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/status")
@Page(guard=_guard(projects.set_status), takes_form=True, shown_by="project_settings")
def change_project_status(*, scope: Scope, form: Form) -> Response:
    """Archive the project or make it active."""
    api.write(projects.set_status, _ids(scope), {"status": form.text("status")}, method="PATCH")
    return see_other(project_url(scope, "/settings?done=saved"))


@blueprint.post(f"{BASE}/delete-project")
@Page(guard=_guard(projects.delete), takes_form=True, shown_by="project_settings")
def delete_project(*, scope: Scope, form: Form) -> Response:
    """Delete the project. The repository stays."""
    api.write(projects.delete, _ids(scope), method="DELETE")
    return see_other(f"{ROOT}/organizations/{scope.organization.id}?done=deleted")
