"""Connection of a repository from a clone URL or an uploaded archive. Both become a repository on this server."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from flask import Response
from marshmallow import Schema, fields

from app.access.guards import permission
from app.access.scope import OrganizationScope
from app.concurrency.threadpool import offload
from app.console.blueprint import ROOT, blueprint
from app.console.organization.connect import GUARD, URL
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.messages import translate
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.core.archives import ArchiveRefused, read_archive
from app.core.errors import InvalidRequest, NotFound
from app.core.permissions import Permission
from app.extensions import current_settings, drivers
from app.http.endpoint import endpoint
from app.http.validation import NameField, RequestBody, text
from app.models.project import ImportStatus, RepositoryImport
from app.resources.git_provider.schemas import plain_name
from app.resources.project import imports, queries, service
from app.resources.project.repository_access import NewRepository, make_connected
from app.resources.project.schemas import ProjectSchema
from app.resources.user.creation_limits import limits_of

REFRESH_S = 3
"""Interval in which a browser reloads the page of a running import, also without scripts."""

_ENDINGS = re.compile(r"\.(zip|tar|tar\.gz|tgz|git)$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ImportRepositoryBody(RequestBody):
    """A repository that is cloned."""

    clone_url: Annotated[str, text(1, 1_000)]
    name: Annotated[str, fields.String(required=True, validate=plain_name)]
    project_name: Annotated[str, NameField(100, required=True)]


class ImportItemSchema(Schema):
    """An import."""

    id = fields.String()


@endpoint(
    guard=permission(Permission.MANAGE_PROJECTS),
    body=ImportRepositoryBody,
    result=ImportItemSchema,
    rate="project_create",
)
def start_import(*, scope: OrganizationScope, body: ImportRepositoryBody) -> RepositoryImport:
    """Store an import and enqueue its job. The console calls this operation; it has no URL."""
    return imports.request_import(
        scope.organization,
        scope.user,
        url=body.clone_url,
        name=body.name,
        project_name=body.project_name,
        hosts=current_settings().git.clone_hosts,
        limits=limits_of(scope.organization.owner_id),
    )


@dataclass(frozen=True, kw_only=True)
class ImportArchiveBody(RequestBody):
    """A project with the files of an archive."""

    archive: Annotated[bytes, fields.Raw(required=True)]
    name: Annotated[str, fields.String(required=True, validate=plain_name)]
    project_name: Annotated[str, NameField(100, required=True)]


def _create_from_archive(scope: OrganizationScope, body: ImportArchiveBody) -> NewRepository:
    """Check the limits, unpack the archive in a thread, then create the repository with its files."""
    service.check_creation(scope.organization, body.project_name, limits=limits_of(scope.organization.owner_id))
    with tempfile.TemporaryDirectory() as folder:
        try:
            offload(_unpack, body.archive, Path(folder))
        except ArchiveRefused as error:
            raise InvalidRequest.field("archive", str(error)) from error
        return make_connected(scope.organization, body.name, source=Path(folder), hosts=drivers.git, by=scope.user)


def _unpack(data: bytes, folder: Path) -> None:
    for path, content in read_archive(data).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


@endpoint(
    guard=permission(Permission.MANAGE_PROJECTS),
    body=ImportArchiveBody,
    result=ProjectSchema,
    upstream=_create_from_archive,
    rate="project_create",
)
def create_from_archive(*, scope: OrganizationScope, body: ImportArchiveBody, prepared: NewRepository) -> queries.Shown:
    """Create a project on a repository with the files of an archive.

    The console calls this operation; it has no URL.
    """
    values = {"name": body.project_name} | prepared.values
    limits = limits_of(scope.organization.owner_id)
    return queries.reload_project(
        service.create(scope.organization, values, prepared.reached, by=scope.user, limits=limits)
    )


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
    names={"name": "clone_name", "project_name": "clone_name"},
)
def clone(*, scope: OrganizationScope, form: Form) -> Response:
    """Start the clone of a repository and lead to its progress."""
    url = form.text("clone_url").strip()
    if not url:
        raise InvalidRequest.field("clone_url", _("Enter the URL of a repository."))
    started = api.write(start_import, scope.path, {"clone_url": url} | _names(form.text("clone_name"), url))
    return see_other(f"{ROOT}/organizations/{scope.path['org_id']}/imports/{started['id']}")


@blueprint.get("/organizations/<org_id>/imports/<import_id>")
@Page(guard=GUARD)
def import_progress(*, scope: OrganizationScope) -> Response:
    """Show the progress of a clone, and lead to the project at its end."""
    row = imports.find(scope.organization, scope.path["import_id"])
    if row is None:
        raise NotFound
    if row.status == ImportStatus.CONNECTED and row.project_id is not None:
        return see_other(f"{ROOT}/projects/{row.project_id}?done=connected")
    response = page("organization/import.html", row=row, problem=translate(row.problem_text or ""))
    if row.status in imports.OPEN:
        response.headers["Refresh"] = str(REFRESH_S)
    return response


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
    names = _names(form.text("archive_name"), file.filename)
    created = api.write(create_from_archive, scope.path, {"archive": file.read()} | names)
    return see_other(f"{ROOT}/projects/{created['project_id']}?done=connected")
