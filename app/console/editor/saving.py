"""Saving of an edited file. If another user changed the file since, the text is stored as a draft and compared."""

from urllib.parse import quote

from flask import Response

from app.access.scope import Scope
from app.console.editor.page_source import OpenFile, delete_draft, write_draft
from app.console.project.content import save
from app.console.project.project_home import project_url
from app.console.shell.pages import see_other
from app.console.shell.translation import gettext as _
from app.core.errors import Conflict


def edit_url(scope: Scope, path: str, query: str = "") -> str:
    """Return the URL of the editor of a file."""
    return project_url(scope, f"/edit/{quote(path)}{f'?{query}' if query else ''}")


def save_edit(scope: Scope, opened: OpenFile, data: bytes, message: str, *, mode: str = "rich") -> Response:
    """Save new bytes of an opened file, and lead to the editor or, after a conflict, to the comparison."""
    if data == opened.data and not opened.is_new:
        delete_draft(scope, opened.path)
        return see_other(edit_url(scope, opened.path, f"mode={mode}&done=unchanged"))
    file = {
        "path": opened.path,
        "action": "create" if opened.is_new else "update",
        "content": data,
        "base_blob_sha": opened.blob_sha or None,
    }
    text = _("Create %(name)s", name=opened.path) if opened.is_new else _("Update %(name)s", name=opened.path)
    try:
        saved = save(scope, message.strip() or text, opened.base_sha, file)
    except Conflict as error:
        if error.code != Conflict.code:
            raise
        write_draft(scope, opened.path, data, opened.blob_sha, base_sha=opened.base_sha)
        return see_other(project_url(scope, f"/conflict/{quote(opened.path)}"))
    delete_draft(scope, opened.path)
    change = f"since={opened.base_sha}&change={saved['commit_sha']}"
    return see_other(edit_url(scope, opened.path, f"mode={mode}&{change}&done=saved"))
