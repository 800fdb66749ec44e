"""Saving of an edited file with its images. If another user changed the file since, the draft is compared."""

from urllib.parse import quote

from flask import Response

from app.access.scope import ProjectScope, Scope
from app.console.editor.draft_images import finish_draft
from app.console.editor.image_commits import ImagePlan, plan_images
from app.console.editor.page_source import OpenFile, open_present, write_draft
from app.console.project.content import save
from app.console.project.project_home import project_url
from app.console.shell.pages import see_other
from app.console.shell.translation import gettext as _
from app.core.errors import Conflict, NotFound


def edit_url(scope: Scope, path: str, query: str = "") -> str:
    """Return the URL of the editor of a file."""
    return project_url(scope, f"/edit/{quote(path)}{f'?{query}' if query else ''}")


def save_edit(scope: ProjectScope, opened: OpenFile, data: bytes, message: str, *, mode: str = "rich") -> Response:
    """Save new bytes of an opened file with the images that they name.

    Leads to the editor or, after a conflict, to the comparison.

    Raises:
        Conflict: an image cannot be stored under its name. The draft keeps the text and the images.
    """
    plan = plan_images(scope, opened.path, data)
    is_changed = plan.data != opened.data or opened.is_new
    if not is_changed and not plan.files:
        finish_draft(scope, opened.path, plan.ids)
        return see_other(edit_url(scope, opened.path, f"mode={mode}&done=unchanged"))
    file = {
        "path": opened.path,
        "action": "create" if opened.is_new else "update",
        "content": plan.data,
        "base_blob_sha": opened.blob_sha or None,
    }
    text = _("Create %(name)s", name=opened.path) if opened.is_new else _("Update %(name)s", name=opened.path)
    files = [*([file] if is_changed else []), *plan.files]
    try:
        saved = save(scope, message.strip() or text, opened.base_sha, *files)
    except Conflict as error:
        if error.code != Conflict.code:
            raise
        present = _present(scope, opened.path)
        if present is not None and present.data == plan.data and not plan.files:  # The same form was sent twice.
            return _saved(scope, opened, plan, present.base_sha, mode)
        write_draft(scope, opened.path, data, opened.blob_sha, base_sha=opened.base_sha)
        faults = {one.path for one in error.fields}
        if faults and faults <= {one["path"] for one in plan.files}:
            raise Conflict(_("An image has the name of a new file of the site. Save again.")) from error
        return see_other(project_url(scope, f"/conflict/{quote(opened.path)}"))
    return _saved(scope, opened, plan, saved["commit_sha"], mode)


def _saved(scope: ProjectScope, opened: OpenFile, plan: ImagePlan, commit_sha: str, mode: str) -> Response:
    finish_draft(scope, opened.path, plan.ids)
    change = f"since={opened.base_sha}&change={commit_sha}"
    done = "saved-renamed" if plan.is_renamed else "saved"
    return see_other(edit_url(scope, opened.path, f"mode={mode}&{change}&done={done}"))


def _present(scope: ProjectScope, path: str) -> OpenFile | None:
    try:
        return open_present(scope, path)
    except NotFound:
        return None
