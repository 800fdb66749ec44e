"""Connection of a repository from a clone URL or an uploaded archive. Both become a repository on this server."""

import re
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from flask import Response
from marshmallow import fields

from app.access.scope import OrganizationScope
from app.console.blueprint import ROOT, blueprint
from app.console.organization.connect import GUARD, URL
from app.console.shell.forms import Form
from app.console.shell.messages import translate
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.core.errors import InvalidRequest, NotFound
from app.core.limits import TextLengths
from app.extensions import current_settings, drivers
from app.http.actions import run
from app.http.validation import NameField, RequestBody, text
from app.models.project import ImportStatus
from app.resources.git_provider.schemas import plain_name
from app.resources.project import actions, imports
from app.resources.user.creation_limits import limits_of

REFRESH_S = 3
"""Interval in which a browser reloads the page of a running import."""

_ENDINGS = re.compile(r"\.(zip|tar|tar\.gz|tgz|git)$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ImportBody(RequestBody):
    """A new repository and its project."""

    name: Annotated[str, fields.String(required=True, validate=plain_name)]
    project_name: Annotated[str, NameField(TextLengths.PROJECT_NAME, required=True)]


@dataclass(frozen=True, kw_only=True)
class CloneBody(ImportBody):
    """A new repository from a clone URL."""

    url: Annotated[str, text(1, 1_000)]


def _names(title: str, source: str) -> dict[str, str]:
    """Return the names of the project and of its repository: the entered title, else the name of the source."""
    project_name = title.strip() or _ENDINGS.sub("", re.split(r"[/\\]", source.rstrip("/"))[-1])
    name = re.sub(r"[^a-z0-9._-]+", "-", project_name.lower()).strip(".-_")[:100].rstrip(".-_")
    return {"project_name": project_name, "name": name or "site"}


@blueprint.post(f"{URL}/clone")
@Page(
    guard=GUARD,
    inputs=("clone_url", "clone_name"),
    shown_by="connect",
    names={"url": "clone_url", "name": "clone_name", "project_name": "clone_name"},
)
def clone(*, scope: OrganizationScope, form: Form) -> Response:
    """Start the clone of a repository and lead to its progress."""
    url = form.text("clone_url").strip()
    if not url:
        raise InvalidRequest.field("clone_url", _("Enter the URL of a repository."))
    body = CloneBody.loaded({"url": url} | _names(form.text("clone_name"), url))
    settings, limits = current_settings(), limits_of(scope.organization.owner_id)
    start = partial(imports.request_import, **vars(body), hosts=settings.git.clone_hosts, limits=limits)
    started = run(
        lambda scope: start(organization=scope.organization, by=scope.user),
        scope.path,
        guard=GUARD,
        rate="project_create",
    )
    return see_other(f"{ROOT}/organizations/{scope.path['org_id']}/imports/{started.id}")


@blueprint.get("/organizations/<org_id>/imports/<import_id>")
@Page(guard=GUARD)
def import_progress(*, scope: OrganizationScope) -> Response:
    """Show the progress of a clone, and lead to the project at its end."""
    row = imports.find(scope.organization, scope.path["import_id"])
    if row is None:
        raise NotFound
    if row.status == ImportStatus.CONNECTED and row.project_id is not None:
        return see_other(f"{ROOT}/projects/{row.project_id}?done=connected")
    refresh_s = REFRESH_S if row.status in imports.OPEN else None
    return page("organization/import.html", refresh_s=refresh_s, row=row, problem=translate(row.problem_text or ""))


@blueprint.post(f"{URL}/archive")
@Page(
    guard=GUARD,
    inputs=("archive", "archive_name"),
    shown_by="connect",
    names={"name": "archive_name", "project_name": "archive_name"},
)
def connect_archive(*, scope: OrganizationScope, form: Form) -> Response:
    """Create a repository with the files of an archive and connect it."""
    file = form.files.get("archive")
    if file is None or not file.filename:
        raise InvalidRequest.field("archive", _("Choose an archive."))
    body = ImportBody.loaded(_names(form.text("archive_name"), file.filename))
    create = partial(actions.create_from_archive, data=file.read(), **vars(body), hosts=drivers.git)
    created = run(
        lambda scope: create(organization=scope.organization, by=scope.user),
        scope.path,
        guard=GUARD,
        outside=True,
        rate="project_create",
    )
    return see_other(f"{ROOT}/projects/{created.id}?done=connected")
