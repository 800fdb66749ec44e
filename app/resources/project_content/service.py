"""Rules of project content: the record of a save and requested updates of the index."""

from collections.abc import Iterator

from app.core.api_tokens import TokenGrant
from app.extensions import db
from app.models.project import Project
from app.models.project_content import IndexStatus
from app.models.project_log import LogAction, LogSource
from app.models.user import User
from app.resources.project.events import (
    BranchMove,
    BranchWriter,
    FileEvent,
    FilesChanged,
    branch_written,
    files_changed,
)
from app.resources.project_content.index import indexes, indexing
from app.resources.project_content.saving.commit_builder import NoChange, Saved, SaveRequest
from app.resources.project_content.source import Disconnected
from app.resources.project_content.versions import file_metadata

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


def record_save(saved: Saved | NoChange, *, user: User | None, grant: TokenGrant | None = None) -> dict[str, object]:
    """Write a commit to the project log and, if it is the next one of the index, to the index. Return the response."""
    merged: dict[str, object] = {} if saved.merged is None else {"merged": [vars(one) for one in saved.merged]}
    if isinstance(saved, NoChange):
        return {"commit_sha": saved.commit_sha, "branch": saved.branch, "files": [], "url": None, **merged}
    if user is not None:
        project = db.session.get_one(Project, saved.project_id)
        branch_written.publish(BranchWriter.through(project, saved.branch, user))
    commit = saved.commit
    actions = dict(_actions(saved.save))
    events = tuple(FileEvent(path, action, commit.sha) for path, action in actions.items())
    read_index = indexes.ensure if saved.creates_index else indexes.find
    index = read_index(saved.project_id, saved.branch, lock=True)
    if index is not None and index.commit_sha == commit.parent and index.generation > 0:
        # The last commits of these paths are read from Git on demand.
        indexing.apply(index, commit.sha, commit.changes, {})
    if index is not None:
        indexing.enqueue(index, priority=10)
    file_metadata.store_facts(saved.project_id, list(_facts(saved)))
    move = BranchMove(saved.branch, None, commit.sha)
    files_changed.publish(FilesChanged(saved.project_id, LogSource.COMMIT, events, user, grant, move))
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
