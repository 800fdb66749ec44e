"""Actions on the selected files of a folder: each is one change of the branch."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from flask import Response, request

from app.access.scope import ProjectScope, Scope
from app.console.blueprint import blueprint
from app.console.editor.page_source import OpenFile, open_files
from app.console.project.content import save
from app.console.project.project_home import BASE, MEMBER, project_url
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.translation import gettext as _
from app.content.front_matter.editor import UnsupportedEdit
from app.content.page_text import write_page
from app.core.errors import InvalidRequest, UnprocessableEntity
from app.core.limits import CommitLimits

INPUTS = ("select", "folder", "base_sha", "target", "state")
NAMES = {"files.0.path": "target"}


def selected_paths(paths: Sequence[str]) -> list[str]:
    """Return the selected files, each once.

    Raises:
        InvalidRequest: there is none, or there are more than one commit may contain.
    """
    paths = list(dict.fromkeys(paths))
    if not paths:
        raise InvalidRequest(_("Select at least one file."))
    if len(paths) > CommitLimits.files:
        raise InvalidRequest(_("Select at most %(count)s files.", count=CommitLimits.files))
    return paths


def delete_paths(scope: ProjectScope, paths: list[str], base_sha: str) -> str:
    """Delete files as one change, and return the name of the outcome."""
    files = ({"path": path, "action": "delete"} for path in paths)
    save(scope, _("Delete %(count)s files", count=len(paths)), base_sha, *files)
    return "deleted"


def move_paths(scope: ProjectScope, paths: list[str], target: str, base_sha: str) -> str:
    """Move files to another folder as one change, and return the name of the outcome. They keep their names."""
    target = target.strip().strip("/")
    moves = {path: f"{target}/{path.rpartition('/')[2]}".lstrip("/") for path in paths}
    files = [{"path": new, "action": "move", "previous_path": old} for old, new in moves.items() if old != new]
    if not files:
        return "unchanged"
    message = _("Move %(count)s files to %(folder)s", count=len(files), folder=target or "/")
    save(scope, message, base_sha, *files)
    return "moved"


def set_state(scope: ProjectScope, paths: list[str], *, is_draft: bool) -> str:
    """Mark pages as drafts, or publish them, and return the name of the outcome. Other lines do not change."""
    opened = open_files(scope, paths)
    files = list(_with_state(opened, is_draft=is_draft))
    if not files:
        return "unchanged"
    text = _("Mark %(count)s pages as drafts") if is_draft else _("Publish %(count)s pages")
    save(scope, text % {"count": len(files)}, opened[0].base_sha, *files)
    return "saved"


def _folder(scope: Scope, form: Form, done: str) -> Response:
    """Lead to the list from which the form was sent, with its filter and sort order."""
    query = urlencode({**request.args, "done": done})
    return see_other(project_url(scope, f"/content/{quote(form.text('folder'))}?{query}"))


@blueprint.post(f"{BASE}/bulk-delete")
@Page(guard=MEMBER, inputs=INPUTS, shown_by="folder")
def delete_files(*, scope: ProjectScope, form: Form) -> Response:
    """Delete the selected files."""
    return _folder(scope, form, delete_paths(scope, selected_paths(form.all("select")), form.text("base_sha")))


@blueprint.post(f"{BASE}/bulk-move")
@Page(guard=MEMBER, inputs=INPUTS, shown_by="folder", names=NAMES)
def move_files(*, scope: ProjectScope, form: Form) -> Response:
    """Move the selected files to another folder."""
    paths = selected_paths(form.all("select"))
    return _folder(scope, form, move_paths(scope, paths, form.text("target"), form.text("base_sha")))


@blueprint.post(f"{BASE}/bulk-state")
@Page(guard=MEMBER, inputs=INPUTS, shown_by="folder")
def set_draft_state(*, scope: ProjectScope, form: Form) -> Response:
    """Mark the selected pages as drafts, or publish them."""
    is_draft = form.text("state") == "draft"
    return _folder(scope, form, set_state(scope, selected_paths(form.all("select")), is_draft=is_draft))


def _with_state(opened: list[OpenFile], *, is_draft: bool) -> Iterator[dict[str, Any]]:
    for one in opened:
        page = one.page
        if page is None or page.problem is not None or bool((page.values or {}).get("draft")) == is_draft:
            continue
        try:
            data = write_page(one.path, one.data, page.body, {"draft": is_draft})
        except UnsupportedEdit as reason:
            raise UnprocessableEntity(f"{one.path}: {reason}") from reason
        yield {
            "path": one.path,
            "action": "update",
            "content": data,
            "base_blob_sha": one.blob_sha,
        }
