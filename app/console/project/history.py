"""The history of a project and of a file: versions, comparison, restoring."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.editor.page_source import present_head
from app.console.project.project_home import BASE, MEMBER, project_url
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.core.refs import is_sha
from app.http.endpoint import endpoint_of
from app.http.validation import Length, RequestQuery
from app.resources.project_content import routes as content

PER_PAGE = 50


@dataclass(frozen=True, kw_only=True)
class HistoryPageQuery(RequestQuery):
    """Two versions that are compared, or a position in the history."""

    base: Annotated[str, fields.String(load_default="", validate=Length(max=64))]
    head: Annotated[str, fields.String(load_default="", validate=Length(max=64))]
    cursor: Annotated[str | None, fields.String(load_default=None, validate=Length(max=2048))]


@blueprint.get(f"{BASE}/history")
@blueprint.get(f"{BASE}/history/<path:file>", endpoint="file_history")
@Page(guard=MEMBER, query=HistoryPageQuery)
def history(*, scope: ProjectScope, query: HistoryPageQuery) -> Response:
    """List the versions, or compare two of them."""
    file = scope.path.get("file")
    if is_sha(query.base) and is_sha(query.head):
        return _comparison(scope, file, query)
    ids = {"project_id": scope.path["project_id"]}
    versions, meta = api.read_page(content.list_history, ids, file=file, limit=PER_PAGE, cursor=query.cursor)
    head = present_head(scope)
    return page("project/history.html", file=file, versions=versions, meta=meta, head=head)


def _comparison(scope: ProjectScope, file: str | None, query: HistoryPageQuery) -> Response:
    ids = {"project_id": scope.path["project_id"]}
    difference, meta = api.read_page(
        content.compare, ids, base=query.base, head=query.head, file=file, cursor=query.cursor
    )
    head = present_head(scope)
    return page("project/comparison.html", file=file, difference=difference, meta=meta, query=query, head=head)


@blueprint.post(f"{BASE}/restore/<path:file>")
@Page(guard=endpoint_of(content.restore).guard, inputs=("commit_sha", "base_sha"), shown_by="file_history")
def restore_version(*, scope: ProjectScope, form: Form) -> Response:
    """Restore an earlier version of a file as a new change."""
    file = scope.path["file"]
    data = {
        "file": file,
        "commit_sha": form.text("commit_sha"),
        "base_sha": form.text("base_sha"),
        "message": _("Restore %(name)s", name=file),
    }
    restored = api.write(content.restore, {"project_id": scope.path["project_id"]}, data)
    done = "restored" if restored["files"] else "unchanged"
    return see_other(project_url(scope, f"/history/{quote(file)}?done={done}"))
