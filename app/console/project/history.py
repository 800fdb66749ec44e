"""The history of a project and of a file: versions, comparison, restoring."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from flask import Response
from marshmallow import fields, validate

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.destinations import commit, may_only_propose, new_set, save, sent_edit
from app.console.files.page_source import branch_source, present_head
from app.console.files.scope import BASE, MEMBER, project_url, proposed_url
from app.console.project import changes
from app.console.shell import dates, frame
from app.console.shell.forms import Form
from app.console.shell.pages import Page, lead_back, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import current_language
from app.console.shell.translation import gettext as _
from app.content.entry_files import folder_of_index
from app.core.errors import PayloadTooLarge
from app.core.refs import is_sha
from app.database import transactions
from app.drivers.errors import DriverError
from app.http.loading import instance
from app.http.validation import Cursor, Length, RequestQuery
from app.resources.project_content import actions
from app.resources.project_content.entry_changes import read_entries
from app.resources.project_content.guards import branch_of
from app.resources.project_content.saving.commit_builder import NoChange
from app.resources.project_content.saving.restore import RestoreNotPossible, RestoreRequest, plan_restore
from app.resources.project_content.schemas.revisions import CompareQuery, RestoreVersionBody
from app.resources.project_content.versions.history import last_change, people_of
from app.resources.project_log import service as log
from app.resources.project_log.schemas import LogEntriesSchema

PER_PAGE = 50


@dataclass(frozen=True, kw_only=True)
class HistoryPageQuery(RequestQuery):
    """Two versions that are compared, or a position in the history."""

    base: Annotated[str, fields.String(load_default="", validate=Length(max=64))]
    head: Annotated[str, fields.String(load_default="", validate=Length(max=64))]
    cursor: Annotated[str | None, fields.String(load_default=None, validate=Length(max=2048))]
    show: Annotated[str, fields.String(load_default="all", validate=validate.OneOf(["all", "activity"]))]


@dataclass(frozen=True, kw_only=True)
class ActivityQuery(RequestQuery):
    """The position in the activity."""

    cursor: Cursor


@blueprint.get(f"{BASE}/history")
@blueprint.get(f"{BASE}/history/<path:file>", endpoint="file_history")
@Page(guard=MEMBER, query=HistoryPageQuery)
def history(*, scope: ProjectScope, query: HistoryPageQuery) -> Response:
    """List the versions or the activity of members, or compare two versions."""
    file = scope.path.get("file")
    if file is None and query.show == "activity":
        return _activity(scope, ActivityQuery.loaded({"cursor": query.cursor}))
    if is_sha(query.base) and is_sha(query.head):
        return _comparison(scope, file, query)
    versions, meta = changes.read_history(scope, file, limit=PER_PAGE, cursor=query.cursor)
    return page(
        "project/history.html",
        file=file,
        titles=frame.current().titles([file] if file is not None else []),
        versions=versions,
        meta=meta,
        head=present_head(scope),
        only_proposes=may_only_propose(scope),
    )


@blueprint.get(f"{BASE}/activity")
@Page(guard=MEMBER)
def activity(*, scope: ProjectScope) -> Response:
    """Lead to the activity in the history."""
    return see_other(project_url(scope, "/history?show=activity"))


def _activity(scope: ProjectScope, query: ActivityQuery) -> Response:
    logs = read_log(scope.project.id, limit=PER_PAGE, cursor=query.cursor)
    titles = frame.current().titles([entry["file"] for entry in logs["logs"]])
    return page("project/activity.html", entries=logs["logs"], titles=titles, cursor=logs["meta"]["next_cursor"])


def read_log(project_id: str, *, limit: int, cursor: str | None = None) -> dict[str, Any]:
    """Return a page of the log of a project, newest first, as the API does."""
    return dict(instance(LogEntriesSchema).dump(log.read(project_id, limit=limit, cursor=cursor)))


def _comparison(scope: ProjectScope, file: str | None, query: HistoryPageQuery) -> Response:
    versions = CompareQuery.loaded({"base": query.base, "head": query.head, "file": file, "cursor": query.cursor})
    with transactions.outside_transaction():
        compared = actions.compare_commits(branch_of(scope).source(), **vars(versions))
    difference: dict[str, Any] = compared.to_dict(scope.project.id)
    files, head = difference["files"], present_head(scope)
    return page(
        "project/comparison.html",
        file=file,
        difference=difference,
        titles=frame.current().titles([changed["path"] for changed in files] + ([file] if file is not None else [])),
        text=_text_of(scope, files[0]) if file is not None and files else None,
        sides=list(_sides(scope, file, files[0], head)) if file is not None and files else [],
        meta=compared.meta,
        query=query,
        head=head,
        only_proposes=may_only_propose(scope),
    )


@dataclass(frozen=True)
class ComparedVersion:
    """A version of a comparison with the change that made it. `is_present` is true if the branch has this version."""

    label: str
    sha: str
    people: str
    date: datetime
    is_present: bool


def _sides(scope: ProjectScope, path: str, file: Mapping[str, Any], head: str) -> Iterator[ComparedVersion]:
    """Yield the compared versions that have the path. Reads their changes from the Git host."""
    with transactions.outside_transaction():
        source = branch_source(scope)
        present = source.repository.entries(head, [path]).get(path)
        for label, side in ((_("Before"), file["before"]), (_("After"), file["after"])):
            change = last_change(source, path, side["commit_sha"]) if side and side["path"] == path else None
            if change is not None:
                is_present = present is not None and present.sha == side["sha"]
                people = ", ".join(people_of(change))
                yield ComparedVersion(label, side["commit_sha"], people, change.date, is_present)


def _text_of(scope: ProjectScope, file: Mapping[str, Any]) -> changes.ComparedText:
    """Return the changes of a page. Reads both versions from the Git host."""
    return changes.compared_text(scope, file, changes.read_page_changes(scope, file))


@blueprint.post(f"{BASE}/restore/<path:file>")
@Page(guard=MEMBER, inputs=("commit_sha", "base_sha"), shown_by="file_history")
def restore_version(*, scope: ProjectScope, form: Form) -> Response:
    """Restore an earlier version of a file as a new change. Of a deleted entry, all files are restored."""
    file, message = scope.path["file"], _restore_message(scope, scope.path["file"], form.text("commit_sha"))
    data = {
        "file": file,
        "commit_sha": form.text("commit_sha"),
        "base_sha": form.text("base_sha"),
        "message": message,
    }
    request = RestoreVersionBody.loaded(data).request
    folder = _deleted_folder(scope, request)
    # If a commit cannot contain the other files, the page is restored alone.
    with suppress(RestoreNotPossible, PayloadTooLarge):
        if folder is not None:
            return _restore(scope, replace(request, path=folder, is_folder=True), message)
    return _restore(scope, request, message)


def _restore(scope: ProjectScope, request: RestoreRequest, message: str) -> Response:
    if may_only_propose(scope):
        return _propose_version(scope, request, message)
    restored = commit(scope, lambda branch: actions.restore_version(branch, request, message))
    return _lead_to_history(scope, restored)


def _deleted_folder(scope: ProjectScope, request: RestoreRequest) -> str | None:
    """Return the folder of a deleted entry that the branch no longer contains."""
    folder = folder_of_index(request.path, scope.project.generator)
    if folder is None:
        return None
    with transactions.outside_transaction():
        source = branch_source(scope)
        if source.repository.entries(request.base_sha, [folder]):
            return None
        [entry] = read_entries(source, request.commit_sha, [request.path], scope.project.generator)
        return entry.folder


def _lead_to_history(scope: ProjectScope, restored: Mapping[str, Any] | None) -> Response:
    done, sha = ("restored", restored["commit_sha"]) if restored and restored["files"] else ("unchanged", None)
    return lead_back(project_url(scope, f"/history/{quote(scope.path['file'])}"), done, undo=sha)


def _propose_version(scope: ProjectScope, request: RestoreRequest, message: str) -> Response:
    """Propose an earlier version in a new change set. Raises NotFound, SaveConflict."""
    with transactions.outside_transaction():
        edits = plan_restore(branch_source(scope), request)
    if isinstance(edits, NoChange):
        return _lead_to_history(scope, None)
    with new_set(scope, message) as to:
        save(to, message, request.base_sha, *map(sent_edit, edits))
    return see_other(proposed_url(to))


def _restore_message(scope: ProjectScope, file: str, sha: str) -> str:
    """Return the message of a restore with the date of the version. Reads the commit from the Git host."""
    change = None
    if is_sha(sha):
        with transactions.outside_transaction(), suppress(DriverError):
            change = last_change(branch_source(scope), file, sha)
    if change is None:
        return _("Restore %(name)s", name=file)
    date = dates.exact(change.date, current_language())
    return _("Restore %(name)s (version of %(date)s)", name=file, date=date)
