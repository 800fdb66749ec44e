"""Commits of saves at the Git host: author, pointers of Git LFS, and the commit of an interrupted earlier attempt."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from urllib.parse import urlsplit

import sqlalchemy as sa

from app.content import git_attributes
from app.content.git_attributes import LfsRules
from app.core.errors import AppError, ErrorMessage, FieldError, UnprocessableEntity
from app.core.jobs import LOWEST_PRIORITY
from app.core.limits import KIB
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.git.commit_message import co_author
from app.drivers.git.object_ids import blob_sha
from app.drivers.git.port import Action, Commit, CommitInfo, FileChange, PathChange, Person, TreeEntry
from app.extensions import current_settings, db, jobs
from app.models.project import Project
from app.models.project_content import ContentFile
from app.models.user import Actor, User, UserPreference
from app.resources.project.branches import check_direct_commit
from app.resources.project.events import BranchWriter, branch_written
from app.resources.project_content.index import indexes
from app.resources.project_content.save_request import Attribution, FileEdit, SaveRequest
from app.resources.project_content.saving import commit_builder
from app.resources.project_content.saving.commit_builder import NoChange, PlannedSave, SaveConflict, Saved
from app.resources.project_content.saving.merging import MergePlanner, MergeRequest
from app.resources.project_content.source import Source

VERIFY_DELAY = timedelta(seconds=20)
MAX_COMMITS = 5_000
"""A local branch can receive 80 commits per second, and a retry waits up to 20 s for the lease of the first attempt."""
MAX_COMMITS_WITHOUT_BASE, MAX_EQUAL_MESSAGES = 500, 20
"""Commits among which a retry of a merge without a base commit searches, and those that it compares with the merge."""

_NOT_IN_NAMES = re.compile(r"[<>\r\n\0]+")


def create_commit(
    project_id: str, source: Source, save: SaveRequest, *, by: Actor, creates_index: bool = True
) -> Saved:
    """Create the commit of a save in the name of a person. Record the writer and enqueue an update of the index first.

    The job indexes and logs a commit whose record is lost because the process ended. With `by.is_retry` return the
    commit of the interrupted earlier attempt, if it made one.

    Raises:
        ChangeSetRequired: the branch receives only change sets.
        StoredInLfs: `.gitattributes` sends a file to Git LFS.
        SaveConflict, and the errors of the Git host.
    """
    save = replace(save, attribution=_begin(project_id, source, save.edits, by, creates_index=creates_index))
    earlier = find_earlier_commit(source, save) if by.is_retry else None
    commit = earlier or _write(source, save)
    return Saved(project_id, source.branch, commit, save, creates_index=creates_index)


def _write(source: Source, save: SaveRequest) -> Commit:
    """Create the commit. A conflict names the paths that `on_conflict: merge` would save. Raises SaveConflict."""
    try:
        return commit_builder.write(source, save)
    except SaveConflict as conflict:
        edits = [edit for edit in save.edits if not conflict.paths.isdisjoint(edit.paths)]
        with suppress(AppError, DriverError):
            plan = MergePlanner(source, MergeRequest(save.base_sha, edits, save.message)).plan(conflict.head_sha)
            mergeable = [merged.path for merged in plan.merged]
            conflict.result = {**(conflict.result or {}), "mergeable": mergeable}
        raise


def create_merged_commit(
    project_id: str,
    source: Source,
    planner: MergePlanner,
    *,
    by: Actor,
    creates_index: bool = True,
    trailers: Sequence[tuple[str, str]] = (),
) -> Saved | NoChange:
    """Create the commit of a save whose files are merged with those of the branch, as `create_commit` does.

    `trailers` name other people who made the change.

    Raises:
        ChangeSetRequired: the branch receives only change sets.
        StoredInLfs: `.gitattributes` sends a file to Git LFS.
        MergeRefused: a file cannot be merged.
    """
    attribution = _begin(project_id, source, planner.request.edits, by, creates_index=creates_index)
    attribution = replace(attribution, trailers=tuple(dict.fromkeys([*trailers, *attribution.trailers])))

    def plan(head: str) -> PlannedSave:
        return planner.planned_save(head, attribution)

    earlier = _find_earlier_merge(source, planner, attribution) if by.is_retry else None
    if earlier is None:
        planner.plan(source.repository.head(source.branch))  # Merges before the branch is locked.
    written = earlier or commit_builder.write_planned(source, plan)
    if isinstance(written, NoChange):
        return written
    commit, planned = written
    return Saved(project_id, source.branch, commit, planned.save, planned.merged, creates_index)


def _begin(
    project_id: str, source: Source, edits: Sequence[FileEdit], by: Actor, *, creates_index: bool
) -> Attribution:
    """Check a save, record its writer and enqueue the index. Return how the commit names the person.

    The writer is recorded before the commit exists, so that approvals never count that ignore it.
    """
    branch = source.branch
    check_direct_commit(project_id, branch)
    require_plain_files(project_id, source, [edit.change for edit in edits])
    attribution = attribution_of(by)
    with transactions.write_transaction():
        branch_written.publish(BranchWriter.through(db.session.get_one(Project, project_id), branch, by))
        index = indexes.ensure(project_id, branch) if creates_index else indexes.find(project_id, branch)
        if index is not None:
            jobs.enqueue(
                "content.index",
                delay=VERIFY_DELAY,
                unique=f"content.check:{index.id}",
                lock=f"content:{index.id}",
                priority=LOWEST_PRIORITY,
                index_id=index.id,
            )
    return attribution


def attribution_of(by: Actor) -> Attribution:
    """Return how a commit names a person (contract, 4.13), or the service account of the request.

    If the user has set the preference `impersonate`, the commit names only the bot. Otherwise the setting
    `GIT_COMMIT_AUTHOR` decides whether the person is the author or a co-author.
    """
    grant = by.grant
    if grant is not None and grant.is_service_account:
        # The e-mail addresses of service accounts receive no mail.
        host = f"noreply.{urlsplit(current_settings().server.base_url).hostname or 'invalid'}"
        return _named(Person(_NOT_IN_NAMES.sub(" ", grant.name).strip() or grant.id, f"{grant.id}@{host}"))
    preference, user = db.session.get(UserPreference, by.id), db.session.get_one(User, by.id)
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
    head, message = source.repository.head(source.branch), save.commit_message.strip()
    if head == save.base_sha or not source.repository.is_ancestor(save.base_sha, head):
        return None
    for info in islice(source.repository.history(head, since=save.base_sha), MAX_COMMITS):
        if info.message.strip() == message and info.parent is not None:
            changes = _matching_changes(source, save, info)
            if changes is not None:
                return Commit(info.sha, info.parent, changes, _url(source, info.sha))
    return None


def _find_earlier_merge(
    source: Source, planner: MergePlanner, attribution: Attribution
) -> tuple[Commit, PlannedSave] | None:
    """Return the commit that an interrupted attempt of the same merge made, or None. It has the same message."""
    head, base_sha = source.repository.head(source.branch), planner.request.base_sha
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
    if since is not None and not source.repository.is_ancestor(since, head):
        since = None
    history = islice(source.repository.history(head, since=since), MAX_COMMITS if since else MAX_COMMITS_WITHOUT_BASE)
    matching = ((commit, commit.parent) for commit in history if commit.parent is not None and accepts(commit))
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
    before = source.repository.entries(str(info.parent), paths)
    after = source.repository.entries(info.sha, paths)
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
        elif change.blob is not None:
            yield change.path, change.blob.sha
        elif change.action == Action.MOVE and origin is not None:
            yield change.path, origin.sha


def _url(source: Source, sha: str) -> str | None:
    url = source.repository.facts().url
    return f"{url}/commit/{sha}" if url else None


MAX_ATTRIBUTES_BYTES, MAX_FILES = 64 * KIB, 20
"""Larger attribute files, and further ones in deeper folders, are ignored."""


class StoredInLfs(UnprocessableEntity):
    """A save of a file whose content belongs to Git LFS (422)."""

    message = ErrorMessage("The file .gitattributes sends this file to Git LFS. Nothing was saved. Commit it with Git")


def require_plain_files(project_id: str, source: Source, changes: Iterable[FileChange]) -> None:
    """Require that Git stores the content of all changed files. Pointers of LFS are permitted.

    The rules are those of the index. A branch that is not indexed yet has those of the working branch.

    Raises:
        StoredInLfs: LFS stores a file, or a move would change where a file is stored.
    """
    written = [change for change in changes if change.content is not None or change.previous_path is not None]
    paths = {path for change in written for path in (change.path, change.previous_path) if path is not None}
    files = _files(project_id, source, {name for path in paths for name in git_attributes.attribute_files(path)})
    rules = LfsRules(files)
    refused = [change.path for change in written if files and _is_refused(change, rules)]
    if refused:
        raise StoredInLfs(fields=[FieldError(path, StoredInLfs.message) for path in refused])


def _is_refused(change: FileChange, rules: LfsRules) -> bool:
    if change.content is None and change.previous_path is not None:
        return rules.contain(change.path) is not rules.contain(change.previous_path)
    is_pointer = (change.content or b"").startswith(git_attributes.POINTER)
    return not is_pointer and rules.contain(change.path)


def _files(project_id: str, source: Source, names: set[str]) -> dict[str, str]:
    """Return the texts of the attribute files that exist."""
    index = indexes.find(project_id, source.branch)
    if index is None or index.commit_sha is None:
        index = indexes.find(project_id, db.session.get_one(Project, project_id).branch)
    if index is None or not names:
        return {}
    files = sa.select(ContentFile.path, ContentFile.sha).where(
        ContentFile.index_id == index.id,
        ContentFile.generation == index.generation,
        ContentFile.path.in_(names),
        # GitLab does not report the size of most files.
        sa.func.coalesce(ContentFile.size, 0) <= MAX_ATTRIBUTES_BYTES,
    )
    files = files.order_by(sa.func.length(ContentFile.path), ContentFile.path).limit(MAX_FILES)
    rows = db.session.execute(files).all()
    transactions.release_connection()
    texts = dict(source.repository.blobs({sha for _, sha in rows}, max_bytes=MAX_ATTRIBUTES_BYTES))
    return {path: text.decode(errors="replace") for path, sha in rows if (text := texts.get(sha)) is not None}
