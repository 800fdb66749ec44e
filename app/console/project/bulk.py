"""Actions on selected files: one commit for each 300 files, the limit of a commit."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from flask import Response

from app.access.scope import ProjectScope, Scope
from app.console.blueprint import blueprint
from app.console.files.destinations import may_only_propose, move_edits, new_set, save
from app.console.files.page_source import OpenFile, branch_source, open_files, present_head, read_schema_before_calls
from app.console.files.scope import BASE, MEMBER, EditorScope, in_set, project_url, proposed_url
from app.console.shell.field_labels import page_name
from app.console.shell.forms import Form
from app.console.shell.messages import translate
from app.console.shell.pages import Page, notice_query, query_of_page, see_other
from app.console.shell.translation import gettext as _
from app.console.shell.translation import ngettext
from app.content.draft_state import DraftField, field_to_write
from app.content.entry_files import HUGO, EntryFiles, is_section, outermost
from app.content.front_matter.editor import UnsupportedEdit
from app.content.page_text import write_page
from app.core.errors import AppError, Conflict, InvalidRequest, UnprocessableEntity
from app.core.limits import CommitLimits
from app.database.errors import DatabaseError
from app.drivers.errors import DriverError
from app.http.error_handlers import to_app_error
from app.resources.project_content.entry_changes import (
    entries_to_change,
    read_entries,
    require_movable,
    require_permitted,
)

T = TypeVar("T")
MAX_REASONS = 3
CONFIRMED = "confirmed"
"""The checkbox of a form that confirms the deletion of files that are not selected."""

INPUTS = (CONFIRMED, "select", "select[]", "folder", "base_sha", "target", "state")
NAMES = {"files.0.path": "target"}


def selected_paths(paths: Sequence[str], *, most: int = CommitLimits.form_files) -> list[str]:
    """Return the selected files, each once.

    Raises:
        InvalidRequest: there is none, or there are more than a form may change.
    """
    paths = list(dict.fromkeys(paths))
    if not paths:
        raise InvalidRequest(_("Select at least one file."))
    if len(paths) > most:
        raise InvalidRequest(_("Select at most %(count)s files.", count=most))
    return paths


def _in_commits(groups: Sequence[Sequence[T]], change: Callable[[Sequence[T]], str | None]) -> list[str]:
    """Change files with one commit for each 300 of them, and return the commits.

    A group is what one commit must contain: the files of an entry.

    Raises:
        Conflict: a commit after the first one failed, or the time of a form is over. The message has the numbers.
        AppError, DriverError, DatabaseError: the first commit failed. Nothing was changed.
    """
    until, done, count = time.monotonic() + CommitLimits.form_timeout_s, 0, sum(map(len, groups))
    commits = list[str]()
    for part in _parts(groups):
        if done and time.monotonic() > until:
            raise _interrupted(done, count, _("It took too long. Select the others again."))
        try:
            commits += filter(None, [change(part)])
        except (AppError, DriverError, DatabaseError) as error:
            if not commits:
                raise
            reason = to_app_error(error)
            message = "; ".join(f"{field.path}: {translate(field.message)}" for field in reason.fields[:MAX_REASONS])
            raise _interrupted(done, count, message or translate(reason.message)) from error
        done += len(part)
    return commits


def _parts(groups: Sequence[Sequence[T]]) -> Iterator[list[T]]:
    part = list[T]()
    for group in groups:
        if part and len(part) + len(group) > CommitLimits.files:
            yield part
            part = []
        part.extend(group)
    if part:
        yield part


def _interrupted(done: int, count: int, reason: str) -> Conflict:
    text = _("%(done)s of %(count)s files are done, the others are not changed. %(reason)s")
    return Conflict(text % {"done": done, "count": count, "reason": reason})


class _Unchanged(Exception):
    """No selected file was changed."""


@dataclass(frozen=True)
class BulkOutcome:
    """The name of the outcome of a change of selected files, the scope in which they were changed, and the commits."""

    done: str
    to: EditorScope | None = None
    commits: Sequence[str] = ()

    def lead(self, url: str) -> Response:
        """Lead to the page of the new change set that contains the change, else to the list at a URL with its query.

        The message offers to undo one commit. Several ones are undone in the history.
        """
        if self.to is not None and self.to.change_set is not None:
            return see_other(proposed_url(self.to))
        query = query_of_page() | notice_query(self.done, self.commits[0] if len(self.commits) == 1 else None)
        return see_other(f"{url}?{urlencode(query)}")


def _run(
    scope: ProjectScope,
    title: str,
    done: str,
    plan: Callable[[EditorScope], Sequence[Sequence[T]]],
    change: Callable[[EditorScope, Sequence[T]], str | None],
) -> BulkOutcome:
    """Change files on the site, or in a new change set if the user can only propose.

    Raises:
        InvalidRequest: a change set cannot contain so many files.
    """
    only_proposes = may_only_propose(scope)
    try:
        with new_set(scope, title) if only_proposes else nullcontext(in_set(scope, None)) as to:
            groups = plan(to)
            if only_proposes and sum(map(len, groups)) > CommitLimits.files:
                raise InvalidRequest(_("Select at most %(count)s files.", count=CommitLimits.files))
            _require_change(commits := _in_commits(groups, partial(change, to)))
    except _Unchanged:
        return BulkOutcome("unchanged")
    return BulkOutcome(done, to, commits)


def _require_change(commits: Sequence[str]) -> None:
    if not commits:
        raise _Unchanged


def _entries(to: EditorScope, paths: Sequence[str], base_sha: str, *, deletes: bool = False) -> list[EntryFiles]:
    source, generator = branch_source(to), to.project.generator
    entries = entries_to_change(source, present_head(to), paths, generator, base_sha=base_sha, deletes=deletes)
    require_permitted(read_schema_before_calls(to), entries)
    return outermost(entries)


def delete_paths(scope: ProjectScope, paths: list[str], base_sha: str, *, is_confirmed: bool) -> BulkOutcome:
    """Delete pages with the files of their folders, and other files.

    Raises:
        InvalidRequest: files would be deleted that are not selected, and the form does not confirm it.
    """

    def plan(to: EditorScope) -> list[list[dict[str, Any]]]:
        files = [entry.files for entry in _entries(to, paths, base_sha, deletes=True)]
        others = {path for group in files for path in group}.difference(paths)
        if others and not is_confirmed:
            text = _(
                "The selected pages have other files in their folders: %(count)s. They are deleted with the pages."
            )
            raise InvalidRequest.field(CONFIRMED, text % {"count": len(others)})
        # The languages of one page are one entry.
        return [[{"path": path, "action": "delete"} for path in group] for group in dict.fromkeys(files)]

    def delete(to: EditorScope, part: Sequence[dict[str, Any]]) -> str:
        return str(save(to, _("Delete %(count)s files", count=len(part)), base_sha, *part)["commit_sha"])

    return _run(scope, _("Delete %(count)s files", count=len(paths)), "deleted", plan, delete)


def move_paths(scope: ProjectScope, paths: list[str], target: str, base_sha: str) -> BulkOutcome:
    """Move pages with the files of their folders, and other files, to another folder. They keep their names."""
    target = target.strip().strip("/")
    message = _("Move %(count)s files to %(folder)s")

    def plan(to: EditorScope) -> list[list[dict[str, Any]]]:
        entries = {entry.address: entry for entry in _entries(to, paths, base_sha)}.values()
        moves = [(entry, entry.page_in(target)) for entry in entries if entry.page_in(target) != entry.page]
        require_movable(branch_source(to), present_head(to), moves, to.project.generator, field="target")
        return move_edits(to, moves)

    def move(to: EditorScope, part: Sequence[dict[str, Any]]) -> str:
        text = message % {"count": len(part), "folder": target or "/"}
        return str(save(to, text, base_sha, *part)["commit_sha"])

    return _run(scope, message % {"count": len(paths), "folder": target or "/"}, "moved", plan, move)


def set_state(scope: ProjectScope, paths: list[str], *, is_draft: bool, field: DraftField | None = None) -> BulkOutcome:
    """Mark pages as drafts, or publish them. Other lines do not change.

    `field` is the one that marks drafts in the collection, else each page names it.

    Raises:
        InvalidRequest: a section would hide its other pages. Its own editor says so and can do it.
    """
    if is_draft:
        _require_visible_pages(scope, paths)
    text = _("Mark %(count)s pages as drafts") if is_draft else _("Publish %(count)s pages")

    def change(to: EditorScope, part: Sequence[str]) -> str | None:
        opened = open_files(to, part)
        files = list(_with_state(opened, is_draft=is_draft, field=field))
        if not files:
            return None
        return str(save(to, text % {"count": len(files)}, opened[0].base_sha, *files, shares=True)["commit_sha"])

    return _run(scope, text % {"count": len(paths)}, "saved", lambda _to: [[path] for path in paths], change)


def _require_visible_pages(scope: ProjectScope, paths: Sequence[str]) -> None:
    """Refuse drafts of sections of Hugo with pages that are not selected."""
    sections = [path for path in paths if is_section(path)] if scope.project.generator == HUGO else []
    for entry in read_entries(branch_source(scope), present_head(scope), sections, HUGO) if sections else ():
        hidden = len(set(entry.other_pages).difference(paths))
        if hidden:
            title, pages = page_name(entry.page), ngettext("%(num)s page", "%(num)s pages", hidden)
            text = _("“%(title)s” is a section. As a draft it hides all its pages: %(pages)s.")
            raise InvalidRequest(text % {"title": title, "pages": pages})


def _folder(scope: Scope, form: Form, outcome: BulkOutcome) -> Response:
    """Lead to the list from which the form was sent, with its filter and sort order."""
    return outcome.lead(project_url(scope, f"/content/{quote(form.text('folder'))}"))


@blueprint.post(f"{BASE}/bulk-delete")
@Page(guard=MEMBER, inputs=INPUTS, shown_by="folder")
def delete_files(*, scope: ProjectScope, form: Form) -> Response:
    """Delete the selected files."""
    paths, is_confirmed = selected_paths(form.all("select")), form.is_checked(CONFIRMED)
    return _folder(scope, form, delete_paths(scope, paths, form.text("base_sha"), is_confirmed=is_confirmed))


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
