"""The home page of a project, its activity and its search."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope, Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other, wants_json
from app.console.shell.rendering import page
from app.content.schema.relations import title_of
from app.content.search_text import read_text
from app.core.errors import NotFound
from app.http.endpoint import endpoint_of
from app.http.envelope import json_response
from app.http.validation import Cursor, Length, RequestQuery
from app.models.project_content import IndexStatus
from app.resources.project_content import routes as content
from app.resources.project_content.tree.folder_listing import titles_of
from app.resources.project_draft import routes as drafts
from app.resources.project_draft import service as draft_service
from app.resources.project_log import routes as log
from app.resources.project_preview import routes as previews

BASE = "/projects/<project_id>"
MEMBER = endpoint_of(content.commit).guard
RECENT, PER_PAGE, HITS = 10, 100, 50
REFRESH_S = 3
"""Interval in which a browser reloads the page of a project whose content is read for the first time."""


@dataclass(frozen=True, kw_only=True)
class SearchPageQuery(RequestQuery):
    """The terms of a search."""

    q: Annotated[str, fields.String(load_default="", validate=Length(max=500))]


@dataclass(frozen=True, kw_only=True)
class ActivityQuery(RequestQuery):
    """The position in the activity."""

    cursor: Cursor


def project_url(scope: Scope, path: str = "") -> str:
    """Return the URL of a page of the project."""
    return f"{ROOT}/projects/{scope.path['project_id']}{path}"


@blueprint.get(BASE)
@Page(guard=MEMBER)
def project_home(*, scope: ProjectScope) -> Response:
    """Show the latest changes, the drafts of the user, and the state of index and preview."""
    entries, own_drafts = api.read(log.read, scope.path, limit=RECENT)["logs"], api.read(drafts.read, scope.path)
    titles = titles_of(scope.project, scope.index, [one["file"] for one in (*entries, *own_drafts)])
    titles |= {one.path: one.title for one in new_pages(scope) if one.title}
    response = page(
        "project/home.html",
        entries=entries,
        drafts=own_drafts,
        titles=titles,
        preview=read_preview(scope),
    )
    index, running = scope.index, (IndexStatus.QUEUED, IndexStatus.INDEXING)
    if index is not None and index.commit_sha is None and index.status in running:
        response.headers["Refresh"] = str(REFRESH_S)
    return response


@dataclass(frozen=True)
class NewPage:
    """A page that exists as a draft of the user only. Its title may be empty."""

    path: str
    title: str
    values: Mapping[str, object]
    updated_at: datetime


def new_pages(scope: ProjectScope) -> list[NewPage]:
    """Return the pages of the working branch that the user has not saved yet, the latest first."""
    pages = []
    for one in draft_service.new_files(scope.project, by=scope.user):
        text = read_text(one.file, one.start.encode())
        values = text.front_matter or {} if text is not None else {}
        title = (text.title or title_of(values) if text is not None else "") or ""
        pages.append(NewPage(one.file, title, values, one.updated_at))
    return pages


def read_preview(scope: Scope) -> dict[str, Any] | None:
    """Return the preview record of the project, or None."""
    try:
        record: dict[str, Any] = api.read(previews.details, scope.path)
    except NotFound:
        return None
    return record


@blueprint.post(f"{BASE}/reindex")
@Page(guard=endpoint_of(content.reindex).guard, inputs=(), shown_by="project_home")
def read_again(*, scope: ProjectScope, form: Form) -> Response:
    """Read the content of the branch again."""
    api.write(content.reindex, scope.path)
    return see_other(project_url(scope, "?done=queued"))


@blueprint.get(f"{BASE}/search")
@Page(guard=MEMBER, query=SearchPageQuery)
def search(*, scope: ProjectScope, query: SearchPageQuery) -> Response:
    """Search the files of the project. The command palette receives the files as JSON."""
    hits = api.read(content.find, scope.path, q=query.q, limit=HITS) if query.q.strip() else []
    if wants_json():
        return json_response({"files": [_palette_file(scope, hit) for hit in hits]}, 200)
    return page("project/search.html", q=query.q, hits=hits)


def _palette_file(scope: Scope, hit: dict[str, Any]) -> dict[str, str]:
    path: str = hit["path"]
    url = project_url(scope, f"/edit/{quote(path)}")
    return {"title": hit["title"] or path.rpartition("/")[2], "path": path, "url": url}


@blueprint.get(f"{BASE}/activity")
@Page(guard=MEMBER, query=ActivityQuery)
def activity(*, scope: ProjectScope, query: ActivityQuery) -> Response:
    """Show the changes of the project, newest first."""
    logs = api.read(log.read, scope.path, limit=PER_PAGE, cursor=query.cursor)
    titles = titles_of(scope.project, scope.index, [one["file"] for one in logs["logs"]])
    return page("project/activity.html", entries=logs["logs"], titles=titles, cursor=logs["meta"]["next_cursor"])
