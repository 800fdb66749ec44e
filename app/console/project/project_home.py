"""The home page of a project and its search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope, Scope
from app.console.blueprint import blueprint
from app.console.files.destinations import proposals
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.project.change_set_texts import STATE_TEXTS
from app.console.shell import frame
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other, wants_json
from app.console.shell.rendering import page
from app.content.schema.relations import title_of
from app.content.search_text import read_text
from app.core.errors import NotFound
from app.http.actions import run
from app.http.envelope import json_response
from app.http.loading import instance
from app.http.validation import Length, RequestQuery
from app.resources.change_set import queries as change_sets
from app.resources.outbound_webhook.queries import last_build
from app.resources.project_content import service
from app.resources.project_content.index.indexes import is_first_reading
from app.resources.project_content.schema.latest_pages import latest_pages
from app.resources.project_content.schemas.search import SearchQuery
from app.resources.project_content.search.file_search import SearchResult, search_page
from app.resources.project_draft.queries import drafts_on, new_files
from app.resources.project_preview import service as previews
from app.resources.project_preview.schemas import PreviewSchema

RECENT, HITS, NEW_BUTTONS = 10, 50, 5
REFRESH_S = 3
"""Interval in which a browser reloads the page of a project whose content is read for the first time."""


@dataclass(frozen=True, kw_only=True)
class SearchPageQuery(RequestQuery):
    """The terms of a search."""

    q: Annotated[str, fields.String(load_default="", validate=Length(max=500))]


@blueprint.get(BASE)
@Page(guard=MEMBER)
def project_home(*, scope: ProjectScope) -> Response:
    """Show what waits for the user, their drafts, the pages that were edited last, and the state of the site."""
    project, drafts = scope.project, drafts_on(scope.project, by=scope.caller)
    titles = frame.current().titles([own.draft.file for own in drafts])
    titles |= {new_page.path: new_page.title for new_page in new_pages(scope) if new_page.title}
    return page(
        "project/home.html",
        refresh_s=REFRESH_S if is_first_reading(scope.index) else None,
        waiting=change_sets.waiting(scope.caller.id, [project.id], limit=RECENT),
        drafts=drafts,
        proposals=proposals(scope, ", ".join(titles[own.draft.file] for own in drafts)) if drafts else None,
        titles=titles,
        latest=latest_pages(project, scope.index, frame.current().content, limit=RECENT),
        preview=read_preview(scope),
        publication=change_sets.last_publication(project.id),
        build=last_build(project),
        SHOWN=NEW_BUTTONS,
        **STATE_TEXTS,
    )


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
    for new_file in new_files(scope.project, by=scope.caller):
        text = read_text(new_file.file, new_file.start.encode())
        values = text.front_matter or {} if text is not None else {}
        title = (text.title or title_of(values) if text is not None else "") or ""
        pages.append(NewPage(new_file.file, title, values, new_file.updated_at))
    return pages


def read_preview(scope: ProjectScope) -> dict[str, Any] | None:
    """Return the preview record of the project, or None."""
    try:
        return dict(instance(PreviewSchema).dump(previews.find(scope.project)))
    except NotFound:
        return None


@blueprint.get(f"{BASE}/help")
@Page(guard=MEMBER)
def project_help(*, scope: ProjectScope) -> Response:
    """Show the first steps with links to the pages of the project, and the keyboard shortcuts."""
    return page("help.html")


@blueprint.post(f"{BASE}/reindex")
@Page(guard=MEMBER, inputs=(), shown_by="project_home")
def read_again(*, scope: ProjectScope, form: Form) -> Response:
    """Read the content of the branch again."""
    run(lambda scope: service.reindex(scope.project), scope.path, guard=MEMBER)
    return see_other(project_url(scope, "?done=queued"))


@blueprint.get(f"{BASE}/search")
@Page(guard=MEMBER, query=SearchPageQuery)
def search(*, scope: ProjectScope, query: SearchPageQuery) -> Response:
    """Search the files of the project. The command palette receives the files as JSON."""
    hits = _hits(scope, query.q) if query.q.strip() else []
    if wants_json():
        return json_response({"files": _palette_files(scope, [hit.path for hit in hits])}, 200)
    return page("project/search.html", q=query.q, hits=hits, titles=frame.current().titles([hit.path for hit in hits]))


def _hits(scope: ProjectScope, q: str) -> list[SearchResult]:
    query = SearchQuery.loaded({"q": q, "limit": HITS})
    return search_page(scope.project, scope.index, query.q, kind=None, limit=query.limit, cursor=None)[0]


def _palette_files(scope: Scope, paths: Sequence[str]) -> list[dict[str, str]]:
    """Return the pages with their collection, or with the path in the developer view."""
    around = frame.current()
    titles = around.titles(paths)
    return [
        {
            "title": titles[path],
            "group": path if around.shows_paths else around.list_of(path),
            "url": project_url(scope, f"/edit/{quote(path)}"),
        }
        for path in paths
    ]
