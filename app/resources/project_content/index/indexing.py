"""Indexing of a branch up to its head: the changes only, or all files as a new generation.

Readers see the old generation until the new one is complete. No transaction waits for Git.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

import orjson
import sqlalchemy as sa

from app.content.words import fold
from app.core.api_tokens import TokenGrant
from app.core.errors import ErrorMessage
from app.database import inserts, transactions
from app.drivers.errors import UpstreamError
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged, RepositoryUnavailable
from app.drivers.git.port import PathChange, Repository, TreeEntry
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex, IndexStatus
from app.models.project_log import LogAction, LogSource
from app.models.user import User
from app.resources.project.events import BranchMove, FileEvent, FilesChanged, files_changed
from app.resources.project_content import unreadable
from app.resources.project_content.index import cleanup, search_indexing
from app.resources.project_content.source import Source
from app.resources.project_content.tree import tree_parts, tree_snapshot
from app.resources.project_content.versions.history import LastCommits, last_commits, read_last_commits

BATCH_SIZE = 5_000
MAX_FILES = 400_000
"""A commit with more files is not indexed. A few kilobytes of trees can name millions of files."""
TOO_MANY_FILES = ErrorMessage("The branch has more than 400,000 files. Remove some of them and read it again")

MAX_INCREMENTAL_CHANGES = 1_000
"""Larger changes are indexed as a new generation in short transactions. Requests wait at most a second for them."""
MAX_LOGGED_CHANGES = 20_000
"""Larger changes have no files in the project log."""

MAX_REWRITTEN_FILES = 5_000
"""A rewritten branch changes the last commits of all files. Larger ones are indexed as a new generation."""

_FILES: sa.Table = sa.inspect(ContentFile).local_table  # type: ignore[assignment]
_REPLACED = (
    sa.delete(_FILES)
    .where(
        _FILES.c.index_id == sa.bindparam("index_id"),
        _FILES.c.generation == sa.bindparam("generation"),
        _FILES.c.path.in_(sa.bindparam("paths", expanding=True)),
    )
    .returning(_FILES.c.path, _FILES.c.type)
)
COLUMNS = ("index_id", "generation", "path", "type", "mode", "sha", "size", "folded", "last_commit")
Progress = Callable[[int, int | None], None]


class TooManyFiles(Exception):
    """A commit with too many files for an index. The previous generation stays."""


def update_index(
    index: ContentIndex,
    source: Source,
    progress: Progress,
    *,
    is_local: bool = False,
    batch_size: int = BATCH_SIZE,
    max_files: int = MAX_FILES,
) -> None:
    """Index the present head of the branch. Reads outside transactions and writes in short ones. Idempotent.

    With `is_local`, a new generation contains the last commits of its files; other hosts need a request for each
    commit. A file without a size is missing or damaged then.

    Raises:
        TooManyFiles: the commit has more than `max_files`.
    """
    head = source.repository.head(source.branch)
    is_damaged = index.problem == unreadable.PROBLEM
    if index.commit_sha == head and not is_damaged:
        _confirm(index)
    elif is_damaged or not _incremental(index, source, head, is_local=is_local):
        if is_local:  # Before a row is stored and commits are compared. Another host needs many requests.
            with suppress(RepositoryDamaged):
                deque(_limited(source.repository.tree(head), max_files), maxlen=0)
        if is_damaged:
            _read_again(index)
        elif index.commit_sha is not None:
            log_push(index.project_id, pushed_files(source.repository, index.commit_sha, head))
        last = read_last_commits(source, head) if is_local else {}
        try:
            entries = _limited(source.repository.tree(head), max_files)
            _index_from_scratch(index, entries, head, progress, last, is_local=is_local, batch_size=batch_size)
        except RepositoryDamaged:
            entries = _limited(source.repository.readable_tree(head), max_files)
            _index_from_scratch(index, entries, head, progress, last, is_local=is_local, batch_size=batch_size)
    _enqueue_followers(index.id)


def _limited(entries: Iterable[TreeEntry], max_files: int) -> Iterator[TreeEntry]:
    for number, entry in enumerate(entries):
        if number == max_files:
            raise TooManyFiles
        yield entry


def _read_again(index: ContentIndex) -> None:
    """Forget what could not be read. An operator may have repaired the repository."""
    with transactions.locked_row(ContentIndex, index.id) as current:
        if current is not None:
            current.described_sha = None
            unreadable.forget(current.project_id)


def _enqueue_followers(index_id: str) -> None:
    """Enqueue the jobs whose duration depends on the size of the tree or on many blobs."""
    with transactions.write_transaction():
        current = db.session.get(ContentIndex, index_id)
        if current is not None and not tree_snapshot.is_fresh(current):
            tree_snapshot.enqueue(current.id)
        if current is not None and not current.described_sha == current.listed_sha == current.commit_sha:
            search_indexing.enqueue(current)


def _confirm(index: ContentIndex) -> None:
    if index.status != IndexStatus.READY:
        with transactions.locked_row(ContentIndex, index.id) as current:
            if current is not None:
                current.status, current.problem, current.progress = IndexStatus.READY, None, None


def _incremental(index: ContentIndex, source: Source, head: str, *, is_local: bool) -> bool:
    """Apply the changes since the indexed commit. Return False if they are unknown or too many."""
    old = index.commit_sha
    if old is None or index.generation == 0:
        return False
    try:
        with transactions.outside_transaction():
            changes = list(islice(source.repository.changes(old, head), MAX_INCREMENTAL_CHANGES + 1))
            if len(changes) > MAX_INCREMENTAL_CHANGES or index.files + len(changes) > MAX_FILES:
                return False
            is_fast_forward = source.repository.is_ancestor(old, head)
            if not is_fast_forward and index.files > MAX_REWRITTEN_FILES:
                return False
            history = source.repository.history(head, since=old) if is_fast_forward else iter(())
            last = last_commits(history)
    except GitObjectMissing:
        return False
    except UpstreamError:
        if is_local:  # Git has a limit of memory.
            return False
        raise
    is_damaged = is_local and _mark_unreadable(index, [entry for _, entry in changes if entry is not None])
    with transactions.locked_row(ContentIndex, index.id) as current:
        if current is None or current.commit_sha != old:
            return True  # Another job moved the index. It, or the next run, continues from there.
        if not is_fast_forward:
            _clear_last_commits(current)
        before = apply(current, head, changes, last)
        current.problem = unreadable.PROBLEM if is_damaged else current.problem
        _publish_push(current, old, head, file_events(changes, before, last, head))
    return True


def _index_from_scratch(
    index: ContentIndex,
    entries: Iterable[TreeEntry],
    head: str,
    progress: Progress,
    last: LastCommits,
    *,
    is_local: bool,
    batch_size: int,
) -> None:
    index_id, generation, files, is_damaged = index.id, _start_generation(index), 0, False
    for batch in inserts.batches(entries, batch_size):
        files += sum(e.type == "blob" for e in batch)
        with transactions.write_transaction():
            _insert(index_id, generation, batch, last)
            db.session.execute(sa.update(ContentIndex).where(ContentIndex.id == index_id).values(progress=files))
        is_damaged |= any(entry.type == unreadable.FOLDER for entry in batch)
        is_damaged |= is_local and _mark_unreadable(index, batch)
        progress(files, None)
    with transactions.locked_row(ContentIndex, index_id) as current:
        if current is None:
            return
        if current.commit_sha is None:
            enqueue_detection(current.project_id, BranchMove(current.branch, None, head))
        elif current.commit_sha != head:
            _publish_push(current, current.commit_sha, head, ())
        current.generation, current.commit_sha, current.files = generation, head, files
        current.problem = unreadable.PROBLEM if is_damaged else None
        current.listed_sha = None
        _mark_ready(current)
    cleanup.delete_files(index_id, except_generation=generation)


def _mark_unreadable(index: ContentIndex, entries: Iterable[TreeEntry]) -> bool:
    """Mark the files that the local host cannot read. Return whether there are any."""
    shas = [entry.sha for entry in entries if entry.type == "blob" and entry.size is None]
    unreadable.mark(index.project_id, shas)
    return bool(shas)


def _insert(index_id: str, generation: int, entries: Iterable[TreeEntry], last: LastCommits) -> None:
    """Insert the rows of files. A driver takes JSON as text."""
    rows = (
        (index_id, generation, *e, folded(e.path), orjson.dumps(last[e.path]).decode() if e.path in last else None)
        for e in entries
    )
    inserts.insert(db.session.connection(), _FILES, COLUMNS, rows)


def _start_generation(index: ContentIndex) -> int:
    with transactions.locked_row(ContentIndex, index.id) as current:
        if current is not None and current.commit_sha is None:
            current.status = IndexStatus.INDEXING
        newest = db.session.scalar(
            sa.select(sa.func.max(ContentFile.generation)).where(ContentFile.index_id == index.id)
        )
        return max(newest or 0, index.generation) + 1


def apply(index: ContentIndex, commit_sha: str, changes: Sequence[PathChange], last: LastCommits) -> dict[str, str]:
    """Change the rows of the present generation and move the index to `commit_sha`, in the running transaction.

    The cost depends on the number of changes, not on the size of the tree. Returns the previous type of each changed
    path.
    """
    here = {"index_id": index.id, "generation": index.generation}
    before: dict[str, str] = {}
    for part in inserts.batches((change.path for change in changes), 500):
        previous = db.session.execute(_REPLACED, here | {"paths": part})
        before.update({path: kind for path, kind in previous})  # noqa: C416 (rows are not tuples to the type checker)
    _insert(index.id, index.generation, [c.entry for c in changes if c.entry is not None], last)
    index.files += sum(c.entry is not None and c.entry.type == "blob" for c in changes)
    index.files -= sum(kind == "blob" for kind in before.values())
    index.snapshot_changes = tree_parts.extend_changes(index, commit_sha, (change.path for change in changes))
    index.commit_sha = commit_sha
    _mark_ready(index)
    db.session.flush()
    return before


def folded(path: str) -> str | None:
    """Return the path in the form that search compares, or None if the database can compare it."""
    return None if path.isascii() else fold(path)


def pushed_files(repository: Repository, before: str, after: str) -> tuple[FileEvent, ...]:
    """Return the changed files of a push for the project log. A change that is too large for it has none."""
    try:
        with transactions.outside_transaction():
            changes = list(islice(repository.changes(before, after), MAX_LOGGED_CHANGES + 1))
            if len(changes) > MAX_LOGGED_CHANGES:
                return ()
            existing = repository.entries(before, [change.path for change in changes])
            is_fast_forward = repository.is_ancestor(before, after)
            last = last_commits(repository.history(after, since=before)) if is_fast_forward else {}
    except (GitObjectMissing, RepositoryUnavailable):
        return ()
    return file_events(changes, {path: entry.type for path, entry in existing.items()}, last, after)


def log_push(
    project_id: str, files: Sequence[FileEvent], user_id: str | None = None, grant: TokenGrant | None = None
) -> None:
    """Write the files of a push to the project log in short transactions. Another event reports the new head."""
    for part in inserts.batches(files, MAX_INCREMENTAL_CHANGES):
        with transactions.write_transaction():
            user = db.session.get(User, user_id) if user_id is not None else None
            files_changed.publish(FilesChanged(project_id, LogSource.PUSH, tuple(part), user, grant))


def file_events(
    changes: Iterable[PathChange], before: Mapping[str, str], last: LastCommits, head: str
) -> tuple[FileEvent, ...]:
    """Return the changed files of a push for the project log. `before` contains the paths that existed."""

    def action(change: PathChange) -> LogAction:
        if change.entry is None:
            return LogAction.DELETE
        return LogAction.UPDATE if change.path in before else LogAction.CREATE

    return tuple(
        FileEvent(c.path, action(c), last.get(c.path, {}).get("sha", head), last.get(c.path, {}).get("author"))
        for c in changes
    )


def _publish_push(index: ContentIndex, before: str | None, head: str, files: tuple[FileEvent, ...]) -> None:
    move = BranchMove(index.branch, before, head)
    files_changed.publish(FilesChanged(index.project_id, LogSource.PUSH, files, move=move))


def _mark_ready(index: ContentIndex) -> None:
    index.status, index.progress, index.indexed_at = IndexStatus.READY, None, utcnow_ms()
    index.problem = unreadable.PROBLEM if index.problem == unreadable.PROBLEM else None


def _clear_last_commits(index: ContentIndex) -> None:
    """Clear the last commits after a rewrite of the branch: they may differ for unchanged files too."""
    db.session.execute(
        sa.update(ContentFile)
        .where(ContentFile.index_id == index.id, ContentFile.generation == index.generation)
        .values(last_commit=sa.null())
    )


def enqueue(index: ContentIndex, *, priority: int = 0) -> str | None:
    """Enqueue an update of the index. At most one call waits."""
    return jobs.enqueue(
        "content.index",
        unique=f"content.index:{index.id}",
        lock=f"content:{index.id}",
        priority=priority,
        index_id=index.id,
    )


def enqueue_detection(project_id: str, move: BranchMove) -> None:
    """Enqueue the detection of the generator, if a working branch has moved from a commit or has no generator yet."""
    project = db.session.get(Project, project_id)
    if project is None or project.branch != move.branch or (move.before is None and project.generator is not None):
        return
    lock = f"content.detect_site:{project_id}"
    jobs.enqueue("content.detect_site", lock=lock, project_id=project_id, before=move.before, after=move.after)


def enqueue_existing(index_id: str) -> None:
    """Enqueue an update of an index in a short transaction, unless it was deleted."""
    with transactions.write_transaction():
        index = db.session.get(ContentIndex, index_id)
        if index is not None:
            enqueue(index)
