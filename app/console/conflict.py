"""The conflict view: the common version, the own draft and the present version side by side, and the choice of parts."""

from typing import Any
from urllib.parse import quote

from flask import Response

from app.access.scope import Scope
from app.console.blueprint import blueprint
from app.console.forms import Form
from app.console.page_source import OpenFile, open_present, open_version, read_blob, read_draft
from app.console.pages import Page, see_other
from app.console.project_home import BASE, MEMBER, project_url
from app.console.removed_page import show_removed
from app.console.rendering import page
from app.console.saving import edit_url, save_edit
from app.content.page_text import with_line_ends
from app.content.three_way import compare, merge
from app.core.errors import NotFound

URL = f"{BASE}/conflict/<path:file>"


def _read(scope: Scope) -> tuple[OpenFile | None, dict[str, Any] | None, str]:
    """Return the present version, the draft and the common version. The version is None if only the draft exists."""
    draft = read_draft(scope, scope.path["file"])
    try:
        present = open_present(scope, scope.path["file"])
    except NotFound:
        if draft is None:
            raise
        return None, draft, ""
    base = read_blob(scope, draft["base_blob_sha"]) if draft is not None and draft["base_blob_sha"] else b""
    return present, draft, base.decode("utf-8", "replace")


@blueprint.get(URL)
@Page(guard=MEMBER, prepare=_read)
def conflict(*, scope: Scope, prepared: tuple[OpenFile | None, dict[str, Any] | None, str]) -> Response:
    """Show the three versions and a merged text."""
    present, draft, base = prepared
    if draft is None:
        return see_other(edit_url(scope, scope.path["file"]))
    if present is None:
        return show_removed(scope, draft)
    return _show(scope, present, base, draft["content"], ())


def _show(scope: Scope, present: OpenFile, base: str, mine: str, choices: tuple[str, ...]) -> Response:
    path, theirs = scope.path["file"], present.data.decode("utf-8", "replace")
    parts = compare(base, mine, theirs)
    return page(
        "project/conflict.html",
        file=path,
        name=path.rpartition("/")[2],
        opened=present,
        base=base,
        mine=mine,
        theirs=theirs,
        conflicts=[part for part in parts if part.is_conflict],
        choices=choices,
        result=merge(parts, choices),
    )


@blueprint.post(URL)
@Page(guard=MEMBER, takes_form=True, shown_by="conflict")
def resolve_conflict(*, scope: Scope, form: Form) -> Response:
    """Show the text with the chosen parts, or save the text of the form on the present version."""
    path = scope.path["file"]
    if form.text("action") == "apply":
        present, draft, base = _read(scope)
        if present is None:
            return see_other(project_url(scope, f"/conflict/{quote(path)}"))
        choices = tuple(form.text(f"part-{number}") for number in range(len(form.values)))
        return _show(scope, present, base, draft["content"] if draft else "", choices)
    opened = open_version(scope, path, form.text("base_sha"), form.text("base_blob_sha"))
    data = with_line_ends(opened.data.decode("utf-8", "replace"), form.text("body")).encode()
    return save_edit(scope, opened, data, form.text("message"))
