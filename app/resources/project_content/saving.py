"""A save's two halves: the commit on the host (before the transaction) and its record (inside it)."""

import re
from dataclasses import dataclass
from datetime import timedelta

from app import transactions
from app.core.jobs import BEHIND_ALL_OTHERS
from app.drivers.git.commit_message import co_author
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Commit, Person
from app.extensions import db, jobs
from app.models.project import Project
from app.models.project_log import LogAction, LogSource
from app.models.user import User
from app.models.user_preference import UserPreference
from app.resources.project.activity import FileEvent, FilesChanged, files_changed
from app.resources.project_content import commits, indexes, indexing
from app.resources.project_content.source import source_of

_UNFIT = re.compile(r"[<>\r\n\0]+")
LOOK_AGAIN_AFTER = timedelta(seconds=20)


@dataclass(frozen=True)
class Saved:
    """A commit the host has accepted."""

    branch: str
    commit: Commit
    save: commits.Save


def trailers_for(user: User) -> list[tuple[str, str]]:
    """The person as co-author, unless they prefer the bot to stand alone (contract, 4.13)."""
    preference = db.session.get(UserPreference, user.id)
    if preference is not None and preference.impersonate:
        return []
    name = _UNFIT.sub(" ", user.name).strip() or user.email.partition("@")[0]
    return [co_author(Person(name, user.email))]


def commit_to_host(project: Project, save: commits.Save, *, branch: str | None, by: User, hosts: GitHosts) -> Saved:
    """Make the commit, having noted first that the branch is to be looked at again.

    The note is what finds a commit whose record is lost because this process died in between.

    Raises:
        SaveConflict, Disconnected, and the Git host's own failures.
    """
    source = source_of(project, hosts, branch=branch, actor=by)
    with transactions.writing():
        index = indexes.ensure(project, source.branch)
        jobs.enqueue(
            "content.index", delay=LOOK_AGAIN_AFTER, unique=f"content.check:{index.id}", lock=f"content:{index.id}",
            priority=BEHIND_ALL_OTHERS, index_id=index.id,
        )  # fmt: skip
    transactions.rest()
    return Saved(source.branch, commits.write(source, save), save)


def record(project: Project, saved: Saved, *, by: User) -> dict[str, object]:
    """Write the commit into the project log and, where it is the index's next one, into the index."""
    commit = saved.commit
    actions = dict(_actions(saved.save))
    events = tuple(FileEvent(path, action, commit.sha) for path, action in actions.items())
    index = indexes.lock(indexes.ensure(project, saved.branch))
    if index.commit_sha == commit.parent and index.generation > 0:
        # The last commits of these paths are asked of Git when somebody wants them.
        indexing.apply(index, commit.sha, commit.changes, {})
    indexing.ask(index, priority=10)
    files_changed.announce(FilesChanged(project.id, LogSource.COMMIT, events, by))
    return {
        "commit_sha": commit.sha,
        "branch": saved.branch,
        "files": [
            {"path": change.path, "sha": change.entry.sha if change.entry else None} for change in commit.changes
        ],
        "url": commit.url,
    }


def _actions(save: commits.Save) -> list[tuple[str, LogAction]]:
    words = {
        "create": LogAction.CREATE,
        "update": LogAction.UPDATE,
        "delete": LogAction.DELETE,
        "move": LogAction.RENAME,
    }
    return [(edit.change.path, words[edit.change.action]) for edit in save.edits]
