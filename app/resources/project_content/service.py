"""Rules of project content: the record of a save and requested updates of the index."""

from collections.abc import Iterator, Mapping

from app.core.api_tokens import TokenGrant
from app.core.ids import HasId
from app.core.outbound import LateRecord, UnrecordedAct
from app.extensions import db
from app.models.login import ApiToken
from app.models.project import Project
from app.models.project_content import IndexStatus
from app.models.project_log import LogAction, LogSource
from app.models.user import Actor
from app.resources.project.events import (
    BranchMove,
    BranchWriter,
    FileEvent,
    FilesChanged,
    branch_written,
    files_changed,
)
from app.resources.project_content.index import indexes, indexing
from app.resources.project_content.save_request import SaveRequest
from app.resources.project_content.saving.commit_builder import NoChange, Saved
from app.resources.project_content.source import Disconnected
from app.resources.project_content.versions import file_metadata

UnrecordedSave = UnrecordedAct[dict[str, object]]

MAX_DESCRIBED_FILES, MAX_DESCRIBED_BYTES = 20, 64 * 1024
"""Larger saves are described by the job that indexes texts."""


def reindex(project: Project) -> dict[str, str | None]:
    """Enqueue an update of the index of the working branch. Raises Disconnected."""
    if not project.repository:
        raise Disconnected
    index = indexes.ensure(project.id, project.branch)
    if index.status == IndexStatus.FAILED:
        index.status = IndexStatus.QUEUED
    return {"job_id": indexing.enqueue(index, priority=10), "status": str(index.status)}


def record_save(saved: Saved | NoChange, *, user: HasId | None, grant: TokenGrant | None = None) -> dict[str, object]:
    """Write a commit to the project log and, if it is the next one of the index, to the index. Return the response.

    A run that holds the index at the moment, or the next one, adds the commit.
    """
    if isinstance(saved, NoChange):
        return result_of(saved)
    commit, read_index = saved.commit, indexes.ensure if saved.creates_index else indexes.find
    if (index := read_index(saved.project_id, saved.branch)) is not None:
        free = indexes.find_free(saved.project_id, saved.branch)
        if free is not None and free.commit_sha == commit.parent and free.generation > 0:
            # The last commits of these paths are read from Git on demand.
            indexing.apply(free, commit.sha, commit.changes, {})
        indexing.enqueue(index, priority=10)
    file_metadata.store_facts(saved.project_id, list(_facts(saved)))
    move = BranchMove(saved.branch, None, commit.sha)
    publish_commit(saved.project_id, move, dict(_actions(saved.save)), user=user, grant=grant)
    return result_of(saved)


def publish_commit(
    project_id: str, move: BranchMove, actions: Mapping[str, LogAction], *, user: HasId | None, grant: TokenGrant | None
) -> None:
    """Publish the files of the commit of a save, and its user again: a new change set is stored after its branch."""
    if user is not None:
        branch_written.publish(BranchWriter.through(db.session.get_one(Project, project_id), move.branch, user))
    events = tuple(FileEvent(path, action, move.after) for path, action in actions.items())
    files_changed.publish(FilesChanged(project_id, LogSource.COMMIT, events, user, grant, move))


def unrecorded(saved: Saved | NoChange, *, by: Actor) -> UnrecordedSave:
    """Return the record of a save: `record_save`, or late the job that writes it to the log in the name of its user."""

    def record() -> dict[str, object]:
        return record_save(saved, user=by, grant=by.grant)

    if isinstance(saved, NoChange):
        return UnrecordedAct(record)
    arguments = {
        "project_id": saved.project_id,
        "branch": saved.branch,
        "sha": saved.commit.sha,
        "actions": dict(_actions(saved.save)),
        "user_id": by.id,
        "token_id": by.grant.id if by.grant else None,
    }
    return UnrecordedAct(record, LateRecord(result_of(saved), [("content.record_save", arguments)]))


def grant_of(token_id: str | None) -> TokenGrant | None:
    """Return a token for the log, without rights. None if it was deleted."""
    token = db.session.get(ApiToken, token_id) if token_id is not None else None
    return TokenGrant(token.id, token.name, frozenset(), None, token.organization_id) if token is not None else None


def result_of(saved: Saved | NoChange) -> dict[str, object]:
    """Return the response of a save."""
    merged: dict[str, object] = {} if saved.merged is None else {"merged": [vars(file) for file in saved.merged]}
    if isinstance(saved, NoChange):
        return {"commit_sha": saved.commit_sha, "branch": saved.branch, "files": [], "url": None, **merged}
    commit = saved.commit
    return {
        "commit_sha": commit.sha,
        "branch": saved.branch,
        "files": [
            {"path": change.path, "sha": change.entry.sha if change.entry else None} for change in commit.changes
        ],
        "url": commit.url,
        **merged,
    }


def _facts(saved: Saved) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield the facts of small saved files, so that their fields are known before their texts are indexed."""
    shas = {change.path: change.entry.sha for change in saved.commit.changes if change.entry is not None}
    if len(saved.save.edits) > MAX_DESCRIBED_FILES:
        return
    for change in (edit.change for edit in saved.save.edits):
        data, sha = change.content, shas.get(change.path)
        if data is not None and sha is not None and len(data) <= MAX_DESCRIBED_BYTES:
            yield sha, file_metadata.kind_of(change.path), file_metadata.facts_of(change.path, data)


def _actions(save: SaveRequest) -> list[tuple[str, LogAction]]:
    log_actions = {
        "create": LogAction.CREATE,
        "update": LogAction.UPDATE,
        "delete": LogAction.DELETE,
        "move": LogAction.RENAME,
    }
    return [(edit.change.path, log_actions[edit.change.action]) for edit in save.edits]
