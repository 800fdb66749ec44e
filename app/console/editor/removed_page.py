"""The page of a draft whose file the branch no longer has: it was deleted, renamed, or removed by a force push."""

from typing import Any

from flask import Response

from app.console.blueprint import blueprint
from app.console.editor.image_commits import follow_rename, plan_images
from app.console.editor.saving import leave_set
from app.console.files.destinations import INPUTS, destination, proposals, save
from app.console.files.page_source import (
    branch_source,
    delete_draft,
    has_ended,
    present_head,
    read_draft,
    write_draft,
)
from app.console.files.rendered_text import rendered_text
from app.console.files.scope import BASE, EDITOR, EditorScope, edit_url, file_url, in_set, set_query
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.page_text import with_line_ends
from app.core import clock
from app.core.errors import Conflict, InvalidRequest, NotFound
from app.resources.project_content.versions.history import FileRemoval, find_removal, people_of


def show_removed(scope: EditorScope, draft: dict[str, Any]) -> Response:
    """Show the text of a draft whose file does not exist, and what can be done with it."""
    path = scope.path["file"]
    removal = _find(scope)
    text = str(current_form().value("body", draft["content"]))
    return page(
        "project/removed.html",
        file=path,
        name=path.rpartition("/")[2],
        draft=draft,
        text=text,
        rendered=rendered_text(path, text),
        removal=removal,
        people=people_of(removal.commit) if removal.commit else [],
        removed_at=clock.iso(removal.commit.date) if removal.commit else None,
        free_path=_other_path(path),
        change_set=scope.change_set,
        set_query=set_query(scope),
        proposals=proposals(scope, path.rpartition("/")[2]),
    )


def _other_path(path: str) -> str:
    """Return the proposed path of a copy."""
    stem, dot, suffix = path.rpartition(".")
    return f"{stem}-2{dot}{suffix}" if dot and "/" not in suffix else f"{path}-2"


def _find(scope: EditorScope) -> FileRemoval:
    if has_ended(scope):
        scope = in_set(scope, None)
    return find_removal(branch_source(scope), scope.path["file"])


@blueprint.post(f"{BASE}/removed/<path:file>")
@Page(
    guard=EDITOR,
    inputs=("body", "action", "new_path", *INPUTS),
    shown_by="conflict",
    names={"files.0.path": "new_path"},
    upstream=_find,
)
def save_removed(*, scope: EditorScope, form: Form, prepared: FileRemoval) -> Response:
    """Save the text as the page of before or as a new page, or continue with it in the renamed page."""
    path = scope.path["file"]
    draft = read_draft(scope, path)
    if draft is None:
        raise NotFound("There is no draft of this file")
    text = with_line_ends(draft["content"], form.text("body"))
    if has_ended(scope):
        return leave_set(scope, form, lambda _site: text.encode())
    # The text of the form is stored first, so that no failure of the next step loses it.
    write_draft(scope, path, text.encode(), draft["base_blob_sha"])
    if form.text("action") == "follow":
        return _follow(scope, prepared, text, draft["base_blob_sha"])
    target = path if form.text("action") == "restore" else form.text("new_path").strip().strip("/")
    return _save_at(scope, form, text, target)


def _save_at(scope: EditorScope, form: Form, text: str, target: str) -> Response:
    """Save the text as a page of the site or of a change set, with the images of the draft, and lead to its editor."""
    path = scope.path["file"]
    if not target:
        raise InvalidRequest.field("new_path", _("Enter a file name."))
    message = _("Restore %(name)s", name=path) if target == path else _("Create %(name)s", name=target)
    with destination(scope, form, message) as to:
        plan = plan_images(scope, path, text.encode(), to=to, new_path=target)
        file = {"path": target, "action": "create", "content": plan.data}
        save(to, message, present_head(to), file, *plan.files)
    delete_draft(scope, path)
    return see_other(edit_url(to, target, "done=saved"))


def _follow(scope: EditorScope, removal: FileRemoval, text: str, base_blob_sha: str | None) -> Response:
    """Move the draft to the renamed page and lead to the comparison with its present text."""
    if removal.new_path is None:
        raise Conflict(_("This page was not renamed."))
    if read_draft(scope, removal.new_path) is not None:
        raise Conflict(_("You have another draft of the renamed page. Save or discard it first."))
    try:
        write_draft(scope, removal.new_path, text.encode(), base_blob_sha)
    except (
        InvalidRequest
    ):  # The history of some hosts ends at a rename. Without the base, both texts are compared as a whole.
        write_draft(scope, removal.new_path, text.encode(), None)
    follow_rename(scope, scope.path["file"], removal.new_path)
    delete_draft(scope, scope.path["file"])
    return see_other(file_url(scope, "conflict", removal.new_path))
