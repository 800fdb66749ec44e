"""Actions on selected files: one commit for each 300 files, the limit of a commit."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from flask import Response

from app.access.scope import ProjectScope, Scope
from app.console.blueprint import blueprint
from app.console.files.destinations import may_only_propose, new_set, save
from app.console.files.page_source import OpenFile, open_files
from app.console.files.scope import BASE, MEMBER, EditorScope, in_set, project_url, proposed_url
from app.console.shell.forms import Form
from app.console.shell.messages import translate
from app.console.shell.pages import Page, query_of_page, see_other
from app.console.shell.translation import gettext as _
from app.content.draft_state import DraftField, field_to_write
from app.content.front_matter.editor import UnsupportedEdit
from app.content.page_text import write_page
from app.core.errors import AppError, Conflict, InvalidRequest, UnprocessableEntity
from app.core.limits import CommitLimits
from app.database.errors import DatabaseError
from app.drivers.errors import DriverError
from app.http.error_handlers import to_app_error

MAX_REASONS = 3
INPUTS = ("select", "select[]", "folder", "base_sha", "target", "state")
NAMES = {"files.0.path": "target"}


def selected_paths(paths: Sequence[str]) -> list[str]:
    """Return the selected files, each once.

    Raises:
        InvalidRequest: there is none, or there are more than a form may change.
    """
    paths = list(dict.fromkeys(paths))
    if not paths:
        raise InvalidRequest(_("Select at least one file."))
    if len(paths) > CommitLimits.form_files:
        raise InvalidRequest(_("Select at most %(count)s files.", count=CommitLimits.form_files))
    return paths


def _in_commits(paths: Sequence[str], change: Callable[[Sequence[str]], bool]) -> bool:
    """Change files with one commit for each 300 of them, and return whether a commit was made.

    Raises:
        Conflict: a commit after the first one failed, or the time of a form is over. The message has the numbers.
        AppError, DriverError, DatabaseError: the first commit failed. Nothing was changed.
    """
    until, is_changed = time.monotonic() + CommitLimits.form_timeout_s, False
    for start in range(0, len(paths), CommitLimits.files):
        if start and time.monotonic() > until:
            raise _interrupted(start, len(paths), _("It took too long. Select the others again."))
        try:
            is_changed |= change(paths[start : start + CommitLimits.files])
        except (AppError, DriverError, DatabaseError) as error:
            if not is_changed:
                raise
            reason = to_app_error(error)
            message = "; ".join(f"{field.path}: {translate(field.message)}" for field in reason.fields[:MAX_REASONS])
            raise _interrupted(start, len(paths), message or translate(reason.message)) from error
    return is_changed


def _interrupted(done: int, count: int, reason: str) -> Conflict:
    text = _("%(done)s of %(count)s files are done, the others are not changed. %(reason)s")
    return Conflict(text % {"done": done, "count": count, "reason": reason})


class _Unchanged(Exception):
    """No selected file was changed."""


@dataclass(frozen=True)
class BulkOutcome:
    """The name of the outcome of a change of selected files, and the scope in which they were changed."""

    done: str
    to: EditorScope | None = None

    def lead(self, url: str) -> Response:
        """Lead to the page of the new change set that contains the change, else to the list at a URL with its query."""
        if self.to is not None and self.to.change_set is not None:
            return see_other(proposed_url(self.to))
        return see_other(f"{url}?{urlencode(query_of_page() | {'done': self.done})}")


def _run(
    scope: ProjectScope,
    paths: Sequence[str],
    title: str,
    done: str,
    change: Callable[[EditorScope, Sequence[str]], bool],
) -> BulkOutcome:
    """Change files on the site, or in a new change set if the user can only propose.

    Raises:
        InvalidRequest: a change set cannot contain so many files.
    """
    only_proposes = may_only_propose(scope)
    if only_proposes and len(paths) > CommitLimits.files:
        raise InvalidRequest(_("Select at most %(count)s files.", count=CommitLimits.files))
    try:
        with new_set(scope, title) if only_proposes else nullcontext(in_set(scope, None)) as to:
            _require_change(_in_commits(paths, partial(change, to)))
    except _Unchanged:
        return BulkOutcome("unchanged")
    return BulkOutcome(done, to)


def _require_change(is_changed: bool) -> None:
    if not is_changed:
        raise _Unchanged


def delete_paths(scope: ProjectScope, paths: list[str], base_sha: str) -> BulkOutcome:
    """Delete files."""

    def delete(to: EditorScope, part: Sequence[str]) -> bool:
        files = ({"path": path, "action": "delete"} for path in part)
        save(to, _("Delete %(count)s files", count=len(part)), base_sha, *files)
        return True

    return _run(scope, paths, _("Delete %(count)s files", count=len(paths)), "deleted", delete)


def move_paths(scope: ProjectScope, paths: list[str], target: str, base_sha: str) -> BulkOutcome:
    """Move files to another folder. They keep their names."""
    target = target.strip().strip("/")
    moves = {path: f"{target}/{path.rpartition('/')[2]}".lstrip("/") for path in paths}
    moves = {old: new for old, new in moves.items() if old != new}
    message = _("Move %(count)s files to %(folder)s")

    def move(to: EditorScope, part: Sequence[str]) -> bool:
        files = ({"path": moves[old], "action": "move", "previous_path": old} for old in part)
        save(to, message % {"count": len(part), "folder": target or "/"}, base_sha, *files)
        return True

    if not moves:
        return BulkOutcome("unchanged")
    return _run(scope, list(moves), message % {"count": len(moves), "folder": target or "/"}, "moved", move)


def set_state(scope: ProjectScope, paths: list[str], *, is_draft: bool, field: DraftField | None = None) -> BulkOutcome:
    """Mark pages as drafts, or publish them. Other lines do not change.

    `field` is the one that marks drafts in the collection, else each page names it.
    """
    text = _("Mark %(count)s pages as drafts") if is_draft else _("Publish %(count)s pages")

    def change(to: EditorScope, part: Sequence[str]) -> bool:
        opened = open_files(to, part)
        files = list(_with_state(opened, is_draft=is_draft, field=field))
        if files:
            save(to, text % {"count": len(files)}, opened[0].base_sha, *files)
        return bool(files)

    return _run(scope, paths, text % {"count": len(paths)}, "saved", change)


def _folder(scope: Scope, form: Form, outcome: BulkOutcome) -> Response:
    """Lead to the list from which the form was sent, with its filter and sort order."""
    return outcome.lead(project_url(scope, f"/content/{quote(form.text('folder'))}"))


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


def _with_state(opened: list[OpenFile], *, is_draft: bool, field: DraftField | None) -> Iterator[dict[str, Any]]:
    for file in opened:
        time.sleep(0)  # yields to other requests
        page = file.page
        if page is None or page.problem is not None:
            continue
        own = field_to_write(page.values or {}, field)
        if own.marks(page.values or {}) == is_draft:
            continue
        try:
            data = write_page(file.path, file.data, page.body, {own.name: own.draft if is_draft else own.public})
        except UnsupportedEdit as reason:
            raise UnprocessableEntity(f"{file.path}: {reason}") from reason
        yield {
            "path": file.path,
            "action": "update",
            "content": data,
            "base_blob_sha": file.blob_sha,
        }
