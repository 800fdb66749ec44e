"""The home page: what waits for the user, organizations, projects and recent activity."""

from typing import Any

from flask import Response

from app.access.guards import verified
from app.access.scope import Scope
from app.console.blueprint import ROOT, blueprint
from app.console.project.change_set_texts import STATE_TEXTS, notice_text
from app.console.project.history import read_log
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.http.actions import run
from app.models.organization import ArchiveStatus
from app.resources.change_set import notices
from app.resources.change_set import queries as change_sets
from app.resources.organization import queries, service
from app.resources.organization.schemas import CreateOrganizationBody
from app.resources.project.queries import site_urls_of
from app.resources.project_content.tree.folder_listing import titles_in_projects
from app.resources.user.creation_limits import limits_of

GUARD = verified()
PROJECTS_WITH_ACTIVITY, ENTRIES, WAITING = 5, 8, 20


@blueprint.get("")
@Page(guard=GUARD)
def home(*, scope: Scope) -> Response:
    """Show the changes that wait for the user, the organizations with their projects, and the latest changes."""
    own: list[dict[str, Any]] = queries.of_user(scope.caller, status=ArchiveStatus.ACTIVE)
    own.sort(key=lambda organization: not organization["projects"])
    projects = [project for organization in own for project in organization["projects"]]
    entries = _activity(projects)
    titles = titles_in_projects({(str(entry["project"]["project_id"]), str(entry["file"])) for entry in entries})
    waiting = change_sets.waiting(scope.caller.id, [project["project_id"] for project in projects], limit=WAITING)
    return page(
        "home.html",
        organizations=own,
        activity=entries,
        titles=titles,
        waiting=waiting,
        site_urls=site_urls_of([project["project_id"] for project in projects]),
        **STATE_TEXTS,
    )


@blueprint.get("/for-you")
@Page(guard=GUARD)
def for_you(*, scope: Scope) -> Response:
    """List the latest news for the user."""
    return page("for_you.html", notices=notices.listed(scope.caller.id), notice_text=notice_text)


@blueprint.post("/for-you/read")
@Page(guard=GUARD, inputs=("change_set_id",), shown_by="for_you")
def mark_read(*, scope: Scope, form: Form) -> Response:
    """Mark all news as read, or those about a set. The page of a set sends the request when it is opened."""
    notices.mark_read(scope.caller.id, form.optional("change_set_id"))
    return see_other(f"{ROOT}/for-you")


def _activity(projects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the latest log entries of the projects that changed last."""
    latest = sorted(projects, key=lambda project: str(project["updatedAt"]), reverse=True)[:PROJECTS_WITH_ACTIVITY]
    entries = [
        entry | {"project": project}
        for project in latest
        for entry in read_log(project["project_id"], limit=ENTRIES)["logs"]
    ]
    return sorted(entries, key=lambda entry: str(entry["createdAt"]), reverse=True)[:ENTRIES]


@blueprint.get("/help")
@Page(guard=GUARD)
def help_page(*, scope: Scope) -> Response:
    """Show the first steps and the keyboard shortcuts."""
    return page("help.html")


@blueprint.post("/organizations")
@Page(guard=GUARD, inputs=("name",), shown_by="home", names={"org_name": "name"})
def create_organization(*, scope: Scope, form: Form) -> Response:
    """Create an organization."""
    body, limits = CreateOrganizationBody.loaded({"org_name": form.text("name")}), limits_of(scope.caller.id)
    values = body.sent() | {"limit": limits.organizations}
    created = run(lambda scope: service.create(**values, by=scope.user), {}, guard=GUARD, rate="organization_create")
    return see_other(f"{ROOT}/organizations/{created.id}?done=created")
