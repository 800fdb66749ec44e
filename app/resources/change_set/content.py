"""The content of a change set at its Git host: the branch, its head, and the edits between its base and its head."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from app.content.slugs import SlugForm, slug_of
from app.core.errors import PayloadTooLarge
from app.core.limits import CommitLimits
from app.core.refs import is_branch_name
from app.drivers.git.commit_message import co_author, co_authors_of
from app.drivers.git.errors import GitObjectMissing, RepositoryUnavailable
from app.drivers.git.port import CommitInfo, Person, TreeEntry
from app.drivers.git.revisions import Revisions
from app.extensions import current_settings
from app.models.change_set import ChangeSet
from app.resources.change_set.errors import MissingBranch
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.restore import TOO_LARGE, edits_between
from app.resources.project_content.source import Source

MAX_COMMITS, MAX_COMPARED = 500, 50
"""Commits of a set whose authors are read, and those of which the changed files are read."""

MAX_SLUG, UNNAMED = 40, "changes"
UPDATE_MESSAGE = "Update from the site"
MAX_PATHS = 2 * CommitLimits.files
"""The changed paths of a commit that moves the maximum number of files."""

TOO_MANY_FILES = f"A change set can contain at most {CommitLimits.files} files"


@dataclass(frozen=True)
class Content:
    """The head of a set, the commit from which it starts, and the number of changed files.

    `recorded_head` is the head that the row of the set had when the content was read. If the row has another one now,
    a later commit was recorded since. `paths` are the changed files, or None for the recorded content.
    """

    base_sha: str
    head_sha: str
    files: int
    recorded_head: str | None = None
    paths: frozenset[str] | None = None


def branch_name(prefix: str, title: str, set_id: str) -> str:
    """Return the name of the branch of a new set."""
    end = f"-{set_id[-8:]}"
    slug = slug_of(title, SlugForm.ASCII)[:MAX_SLUG].strip("-.")
    name = f"{prefix}/{slug or UNNAMED}{end}"
    return name if is_branch_name(name) else f"{prefix}/{UNNAMED}{end}"


def read_head(source: Source) -> str:
    """Return the head of the branch of a set.

    Raises:
        MissingBranch: the repository has no such branch.
        RepositoryUnavailable: the repository cannot be read.
    """
    try:
        return source.repository.head(source.branch)
    except RepositoryUnavailable:
        source.repository.facts()  # Distinguish a missing branch from a missing repository.
        raise MissingBranch from None


def read_content(source: Source, change_set: ChangeSet, working_branch: str) -> Content:
    """Return the present content of a set. Raises MissingBranch, and the errors of the Git host."""
    recorded = change_set.head_sha
    return read_content_at(source, change_set, working_branch, (recorded, read_head(source)))


def read_content_at(source: Source, change_set: ChangeSet, working_branch: str, heads: tuple[str, str]) -> Content:
    """Return the content of a set. Raises the errors of the Git host.

    `heads` are the recorded head, which was read first, and the present one.
    """
    recorded, head = heads
    if head == recorded:
        return Content(change_set.base_sha, head, change_set.files, recorded)
    return replace(content_at(source, _base_of(source, change_set, head, working_branch), head), recorded_head=recorded)


def content_at(source: Source, base_sha: str, head_sha: str) -> Content:
    """Return the content between two commits."""
    paths = frozenset(change.path for change in source.repository.changes(base_sha, head_sha))
    return Content(base_sha, head_sha, len(paths), paths=paths)


def _base_of(source: Source, change_set: ChangeSet, head: str, working_branch: str) -> str:
    """Return the commit from which a moved branch starts. A merge of the working branch changes it."""
    if not isinstance(source.repository, Revisions):
        return change_set.base_sha
    main = source.repository.head(working_branch)
    try:
        return source.repository.merge_base(main, head) or change_set.base_sha
    except GitObjectMissing:
        return change_set.base_sha


def edits_of(source: Source, base_sha: str, head_sha: str, *, too_many_files: str = TOO_MANY_FILES) -> list[FileEdit]:
    """Return the edits that lead from one commit to another one. Each edit has its base.

    The files are counted before their contents are read, and their bytes if the host reports them. A file that has
    another path without a change counts once. Most hosts need no bytes of new files: they have their blobs.

    Raises:
        PayloadTooLarge: there are more files or bytes than one commit takes.
        RestoreNotPossible: a version is a symbolic link or a submodule.
    """
    changes = islice(source.repository.changes(base_sha, head_sha), MAX_PATHS + 1)
    versions = {change.path: change.entry for change in changes}
    if not versions:
        return []
    if len(versions) > MAX_PATHS:
        raise PayloadTooLarge(too_many_files)
    present = source.repository.entries(base_sha, sorted(versions))
    if len(versions) - moved_files(versions, present) > CommitLimits.files:
        raise PayloadTooLarge(too_many_files)
    reads_all = not source.commits_blobs
    read = (version for path, version in versions.items() if version and (reads_all or path in present))
    if sum(version.size or 0 for version in read) > CommitLimits.bytes:
        raise PayloadTooLarge(TOO_LARGE)
    return list(edits_between(source, versions, present, reads_new_files=reads_all))


def moved_files(versions: Mapping[str, TreeEntry | None], present: Mapping[str, TreeEntry]) -> int:
    """Return the number of new files whose blob a removed file had."""
    removed = Counter(present[path].sha for path, version in versions.items() if version is None and path in present)
    added = Counter(version.sha for path, version in versions.items() if version is not None and path not in present)
    return (removed & added).total()


def people_of(source: Source, base_sha: str, head_sha: str, *, paths: Collection[str] | None = None) -> list[Person]:
    """Return the authors and co-authors of the commits of a set without the bot, the earliest first.

    Each e-mail address occurs once. With `paths` they are those who changed these files, if the set has few commits.
    """
    people, bot = dict[str, Person](), current_settings().git.bot_email.casefold()
    commits = list(islice(source.repository.history(head_sha, since=base_sha), MAX_COMMITS))
    if paths is not None and len(commits) <= MAX_COMPARED:
        commits = [commit for commit in commits if _changes_path(source, commit, paths)]
    for commit in reversed(commits):
        for person in (commit.author, *co_authors_of(commit.message)):
            people.setdefault(person.email.casefold(), person)
    return [person for email, person in people.items() if email != bot]


def _changes_path(source: Source, commit: CommitInfo, paths: Collection[str]) -> bool:
    changes = source.repository.changes(commit.parent, commit.sha) if commit.parent is not None else ()
    return any(change.path in paths for change in changes)


def co_author_trailers(people: Sequence[Person]) -> list[tuple[str, str]]:
    """Return the trailers of co-authors. A person of a pushed commit that no trailer can contain is left out."""
    trailers = []
    for person in people:
        with suppress(ValueError):
            trailers.append(co_author(person))
    return trailers
