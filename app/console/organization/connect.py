"""Connection of a repository, a clone URL or an archive to an organization as a project."""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from flask import Response
from marshmallow import fields, validate

from app.access.guards import permission
from app.access.scope import OrganizationScope
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.messages import translate
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.core.errors import AppError, InvalidRequest, NotFound
from app.core.limits import TextLengths
from app.core.permissions import Permission
from app.drivers.errors import DriverError
from app.extensions import current_settings, drivers
from app.http.actions import run
from app.http.error_handlers import to_app_error
from app.http.loading import instance
from app.http.validation import Cursor, Length, NameField, RequestBody, RequestQuery, text
from app.models.project import ImportStatus, Provider
from app.resources.git_provider import actions as accounts
from app.resources.git_provider import credentials, repositories
from app.resources.git_provider.guards import CREATE_REPOSITORY, START
from app.resources.git_provider.schemas import CreateRepositoryBody, RepositoriesQuery, RepositoryItemSchema, plain_name
from app.resources.project import actions, imports, queries
from app.resources.project.guards import CREATE
from app.resources.project.repository_access import BranchRef
from app.resources.project.schemas import CreateProjectBody
from app.resources.user.creation_limits import limits_of

GUARD = permission(Permission.MANAGE_PROJECTS)
URL = "/organizations/<org_id>/connect"
NEW = "new"
NAMES = {"project_name": "project_name", "name": "new_name"}


@dataclass(frozen=True, kw_only=True)
class ConnectQuery(RequestQuery):
    """The provider whose repositories are listed, and a filter. Without a provider the likeliest one is shown."""

    provider: Annotated[
        str | None, fields.String(load_default=None, validate=validate.OneOf([str(member) for member in Provider]))
    ]
    q: Annotated[str, fields.String(load_default="", validate=Length(max=255))]
    cursor: Cursor


@blueprint.get(URL)
@Page(guard=GUARD, query=ConnectQuery)
def connect(*, scope: OrganizationScope, query: ConnectQuery) -> Response:
    """List the repositories that the user reaches at a provider."""
    providers = _by_likelihood(scope)
    provider = query.provider or providers[0]
    return page(
        "organization/connect.html",
        query=query,
        provider=provider,
        providers=providers,
        **_reachable(scope, provider, query),
        connected=_connected(scope, provider),
        imports=imports.latest(scope.organization) if Provider(provider).is_local else [],
    )


def _reachable(scope: OrganizationScope, provider: str, query: ConnectQuery) -> dict[str, Any]:
    """Return a page of the repositories at a provider, or the problem that prevents it."""
    try:
        sent = RepositoriesQuery.loaded({"provider": provider, "search": query.q or None, "cursor": query.cursor})
        listed, meta = repositories.reachable(scope.caller, **vars(sent), hosts=drivers.git)
    except (AppError, DriverError) as error:
        return {"problem": translate(to_app_error(error).message)}
    return {"repositories": instance(RepositoryItemSchema, many=True).dump(listed), "meta": meta, "problem": None}


def _connected(scope: OrganizationScope, provider: str) -> dict[str, list[dict[str, object]]]:
    """Return the projects of the organization at a provider by their repository."""
    connected: dict[str, list[dict[str, object]]] = defaultdict(list)
    for project in queries.of_organization(scope.organization.id, user=scope.caller, status=None):
        if project["provider"] == provider:
            connected[str(project["repository"])].append(project)
    return connected


def _by_likelihood(scope: OrganizationScope) -> list[str]:
    """Return the providers: those with an account of the user, those that are set up, this server, the others."""
    settings = current_settings()
    connected = {account.provider for account in credentials.credentials_of(scope.caller)}

    def rank(provider: Provider) -> int:
        if provider.is_local:
            return 2
        return 0 if provider in connected else 1 if settings.remote_hosts[provider].client_id else 3

    available = [host for host in Provider if not host.is_local or settings.git.local_enabled]
    return [str(host) for host in sorted(available, key=rank)]


@blueprint.post(URL)
@Page(
    guard=GUARD,
    query=ConnectQuery,
    inputs=("repository", "repository_id", "branch", "new_name", "project_name"),
    shown_by="connect",
    names=NAMES,
)
def connect_repository(*, scope: OrganizationScope, query: ConnectQuery, form: Form) -> Response:
    """Connect a repository, or create a local one and connect it."""
    chosen = _new_repository(scope, form) if form.text("repository") == NEW else form.texts("repository", "branch")
    data = {
        "org_id": scope.path["org_id"],
        "provider": query.provider or Provider.LOCAL,
        "project_name": form.text("project_name") or chosen["repository"].rpartition("/")[2],
        "repository_id": form.optional("repository_id") if form.text("repository") != NEW else None,
    }
    body = CreateProjectBody.loaded(data | chosen | {"branch": chosen["branch"] or "main"})
    target = BranchRef(body.provider, body.repository, body.repository_id, body.branch)
    create = partial(actions.create_on_branch, target=target, sent=body.sent(), hosts=drivers.git)
    project = run(lambda scope: create(scope.organization, by=scope.user), scope.path, CREATE)
    return see_other(f"{ROOT}/projects/{project['project_id']}?done=connected")


def _new_repository(scope: OrganizationScope, form: Form) -> dict[str, str]:
    """Create a repository on this server, and return its name and branch."""
    data = {"org_id": scope.path["org_id"], "provider": "local", "name": form.text("new_name")}
    create = partial(accounts.create_repository, name=CreateRepositoryBody.loaded(data).name, hosts=drivers.git)
    created = run(lambda scope: create(scope.organization), scope.path, CREATE_REPOSITORY)
    return {"repository": created.full_name, "branch": created.default_branch}


@blueprint.post(f"{URL}/account")
@Page(guard=GUARD, query=ConnectQuery, inputs=(), shown_by="connect")
def start_connection(*, scope: OrganizationScope, query: ConnectQuery, form: Form) -> Response:
    """Lead to the provider, where the user connects an account."""
    start = accounts.STARTS.get(Provider(query.provider)) if query.provider else None
    if start is None:
        raise InvalidRequest(_("Choose GitHub or GitLab to connect an account."))
    url = run(lambda scope: start(scope.user, scope.session, hosts=drivers.git), {}, START)["url"]
    # A redirect would be blocked: `form-action` of the policy also applies to the redirects of a form.
    return page("organization/continue.html", is_secret=True, url=url, query=query)


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
