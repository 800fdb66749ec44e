"""Commits of saves at the Git host: their author, and the commit of an interrupted earlier attempt."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from urllib.parse import urlsplit

from app.core.api_tokens import TokenGrant
from app.core.jobs import LOWEST_PRIORITY
from app.database import transactions
from app.drivers.git.commit_message import co_author
from app.drivers.git.object_ids import blob_sha
from app.drivers.git.port import Action, Commit, CommitInfo, PathChange, Person, TreeEntry
from app.extensions import current_settings, db, jobs
from app.models.user import User, UserPreference
from app.resources.project.branches import check_direct_commit
from app.resources.project_content.index import indexes
from app.resources.project_content.saving import commit_builder
from app.resources.project_content.saving.commit_builder import (
    Attribution,
    NoChange,
    PlannedSave,
    SaveConflict,
    Saved,
    SaveRequest,
)
from app.resources.project_content.saving.merging import MergePlanner
from app.resources.project_content.source import Source

VERIFY_DELAY = timedelta(seconds=20)
MAX_COMMITS = 5_000
"""A local branch can receive 80 commits per second, and a retry waits up to 20 s for the lease of the first attempt."""
MAX_COMMITS_WITHOUT_BASE, MAX_EQUAL_MESSAGES = 500, 20
"""Commits among which a retry of a merge without a base commit searches, and those that it compares with the merge."""

_NOT_IN_NAMES = re.compile(r"[<>\r\n\0]+")


def create_commit(
    project_id: str,
    source: Source,
    save: SaveRequest,
    *,
    user: User,
    grant: TokenGrant | None,
    is_retry: bool,
    creates_index: bool = True,
) -> Saved:
    """Create the commit of a save in the name of a user. Enqueue an update of the index first.

    The job indexes and logs a commit whose record is lost because the process ended. With `is_retry` return the commit
    of the interrupted earlier attempt, if it made one.

    Raises:
        ChangeSetRequired: the branch receives only change sets.
        SaveConflict, and the errors of the Git host.
    """
    check_direct_commit(project_id, source.branch)
    save = replace(save, attribution=attribution_of(user, grant))
    _enqueue_index(project_id, source.branch, creates_index=creates_index)
    earlier = find_earlier_commit(source, save) if is_retry else None
    commit = earlier or commit_builder.write(source, save)
    return Saved(project_id, source.branch, commit, save, creates_index=creates_index)


def create_merged_commit(
    project_id: str,
    source: Source,
    planner: MergePlanner,
    *,
    user: User,
    grant: TokenGrant | None,
    is_retry: bool,
    creates_index: bool = True,
) -> Saved | NoChange:
    """Create the commit of a save whose files are merged with those of the branch, as `create_commit` does.

    Raises:
        ChangeSetRequired: the branch receives only change sets.
        MergeRefused: a file cannot be merged.
    """
    check_direct_commit(project_id, source.branch)
    attribution = attribution_of(user, grant)

    def plan(head: str) -> PlannedSave:
        return planner.planned_save(head, attribution)

    _enqueue_index(project_id, source.branch, creates_index=creates_index)
    earlier = _find_earlier_merge(source, planner, attribution) if is_retry else None
    if earlier is None:
        planner.plan(source.git.head(source.repo, source.branch))  # Merges before the branch is locked.
    written = earlier or commit_builder.write_planned(source, plan)
    if isinstance(written, NoChange):
        return written
    commit, planned = written
    return Saved(project_id, source.branch, commit, planned.save, planned.merged, creates_index)


def _enqueue_index(project_id: str, branch: str, *, creates_index: bool) -> None:
    with transactions.write_transaction():
        index = indexes.ensure(project_id, branch) if creates_index else indexes.find(project_id, branch)
        if index is None:
            return
        jobs.enqueue(
            "content.index",
            delay=VERIFY_DELAY,
            unique=f"content.check:{index.id}",
            lock=f"content:{index.id}",
            priority=LOWEST_PRIORITY,
            index_id=index.id,
        )


def attribution_of(user: User, grant: TokenGrant | None = None) -> Attribution:
    """Return how a commit names the user (contract, 4.13), or the service account of the request.

    If the user has set the preference `impersonate`, the commit names only the bot. Otherwise the setting
    `GIT_COMMIT_AUTHOR` decides whether the person is the author or a co-author.
    """
    if grant is not None and grant.is_service_account:
        # The e-mail addresses of service accounts receive no mail.
        host = f"noreply.{urlsplit(current_settings().server.base_url).hostname or 'invalid'}"
        return _named(Person(_NOT_IN_NAMES.sub(" ", grant.name).strip() or grant.id, f"{grant.id}@{host}"))
    preference = db.session.get(UserPreference, user.id)
    if preference is not None and preference.impersonate:
        return Attribution()
    name = _NOT_IN_NAMES.sub(" ", user.name).strip() or user.email.partition("@")[0]
    return _named(Person(_NOT_IN_NAMES.sub("", name), _NOT_IN_NAMES.sub("", user.email)))


def _named(person: Person) -> Attribution:
    if current_settings().git.commit_author == "person":
        return Attribution(author=person)
    return Attribution(trailers=(co_author(person),))


def find_earlier_commit(source: Source, save: SaveRequest) -> Commit | None:
    """Return the commit that an interrupted attempt of the same save made, or None.

    It is one of the newest commits after `base_sha`, has the same message, and leaves the same blobs at every path. The
    save would conflict with any such commit, so a match cannot hide work of another person.
    """
    head, message = source.git.head(source.repo, source.branch), save.commit_message.strip()
    if head == save.base_sha or not source.git.is_ancestor(source.repo, save.base_sha, head):
        return None
    for info in islice(source.git.history(source.repo, head, since=save.base_sha), MAX_COMMITS):
        if info.message.strip() == message and info.parent is not None:
            changes = _matching_changes(source, save, info)
            if changes is not None:
                return Commit(info.sha, info.parent, changes, _url(source, info.sha))
    return None


def _find_earlier_merge(
    source: Source, planner: MergePlanner, attribution: Attribution
) -> tuple[Commit, PlannedSave] | None:
    """Return the commit that an interrupted attempt of the same merge made, or None. It has the same message."""
    head, base_sha = source.git.head(source.repo, source.branch), planner.request.base_sha
    message = planner.request.commit_message(attribution).strip()
    return find_merge(source, planner, attribution, (base_sha, head), lambda info: info.message.strip() == message)


def find_merge(
    source: Source,
    planner: MergePlanner,
    attribution: Attribution,
    commits: tuple[str | None, str],
    accepts: Callable[[CommitInfo], bool],
) -> tuple[Commit, PlannedSave] | None:
    """Return a matching commit whose files are those of the merge with its parent, or None.

    `commits` are the commit after which the search ends and the head at which it starts. If the head does not contain
    the former, only the newest commits are searched.
    """
    since, head = commits
    if since is not None and not source.git.is_ancestor(source.repo, since, head):
        since = None
    history = islice(
        source.git.history(source.repo, head, since=since), MAX_COMMITS if since else MAX_COMMITS_WITHOUT_BASE
    )
    matching = ((one, one.parent) for one in history if one.parent is not None and accepts(one))
    for info, parent in islice(matching, MAX_EQUAL_MESSAGES):
        with suppress(SaveConflict):
            planned = planner.planned_save(parent, attribution)
            changes = _matching_changes(source, planned.save, info) if planned.save.edits else None
            if changes is not None:
                return Commit(info.sha, parent, changes, _url(source, info.sha)), planned
    return None


def _matching_changes(source: Source, save: SaveRequest, info: CommitInfo) -> tuple[PathChange, ...] | None:
    """Return the changed paths with their entries in the commit, or None if one has other content."""
    paths = sorted({path for edit in save.edits for path in edit.paths})
    before = source.git.entries(source.repo, str(info.parent), paths)
    after = source.git.entries(source.repo, info.sha, paths)
    expected = dict(_expected_blobs(save, before))
    if any((after[path].sha if path in after else None) != expected.get(path) for path in paths):
        return None
    return tuple(PathChange(path, after.get(path)) for path in paths)


def _expected_blobs(save: SaveRequest, before: dict[str, TreeEntry]) -> Iterator[tuple[str, str]]:
    """Yield each path that exists after the save, with its blob sha."""
    for change in (edit.change for edit in save.edits):
        origin = before.get(change.previous_path or "")
        if change.content is not None:
            yield change.path, blob_sha(change.content)
        elif change.action == Action.MOVE and origin is not None:
            yield change.path, origin.sha


def _url(source: Source, sha: str) -> str | None:
    url = source.git.repository(source.repo).url
    return f"{url}/commit/{sha}" if url else None
