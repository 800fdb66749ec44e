"""Indexing of a branch up to its head: the changes only, or all files as a new generation.

Readers see the old generation until the new one is complete. No transaction waits for Git.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import orjson
import sqlalchemy as sa

from app.content.words import fold
from app.database import inserts, transactions
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged
from app.drivers.git.port import PathChange, TreeEntry
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.project_content import ContentFile, ContentIndex, IndexStatus
from app.models.project_log import LogAction, LogSource
from app.resources.project.events import BranchMove, FileEvent, FilesChanged, files_changed
from app.resources.project_content.index import cleanup, unreadable
from app.resources.project_content.search import search_indexing
from app.resources.project_content.source import Source
from app.resources.project_content.tree import tree_parts, tree_snapshot
from app.resources.project_content.versions.history import LastCommits, last_commits, read_last_commits

BATCH_SIZE = 5_000
MAX_INCREMENTAL_CHANGES = 20_000
"""Larger changes are indexed as a new generation."""

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


def update_index(
    index: ContentIndex,
    source: Source,
    progress: Progress,
    *,
    is_local: bool = False,
    batch_size: int = BATCH_SIZE,
) -> None:
    """Index the present head of the branch. Reads outside transactions and writes in short ones. Idempotent.

    With `is_local`, a new generation contains the last commits of its files; other hosts need a request for each
    commit. A file without a size is missing or damaged then.
    """
    head = source.git.head(source.repo, source.branch)
    is_damaged = index.problem == unreadable.PROBLEM
    if index.commit_sha == head and not is_damaged:
        _confirm(index)
    elif is_damaged or not _incremental(index, source, head, is_local=is_local):
        if is_damaged:
            _read_again(index)
        last = read_last_commits(source, head) if is_local else {}
        try:
            entries = source.git.tree(source.repo, head)
            _index_from_scratch(index, entries, head, progress, last, is_local=is_local, batch_size=batch_size)
        except RepositoryDamaged:
            entries = source.git.readable_tree(source.repo, head)
            _index_from_scratch(index, entries, head, progress, last, is_local=is_local, batch_size=batch_size)
    _enqueue_followers(index.id)


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
            changes = list(islice(source.git.changes(source.repo, old, head), MAX_INCREMENTAL_CHANGES + 1))
            if len(changes) > MAX_INCREMENTAL_CHANGES:
                return False
            is_fast_forward = source.git.is_ancestor(source.repo, old, head)
            history = source.git.history(source.repo, head, since=old) if is_fast_forward else iter(())
            last = last_commits(history)
    except GitObjectMissing:
        return False
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
        if current.commit_sha not in (None, head):
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


def enqueue_existing(index_id: str) -> None:
    """Enqueue an update of an index in a short transaction, unless it was deleted."""
    with transactions.write_transaction():
        index = db.session.get(ContentIndex, index_id)
        if index is not None:
            enqueue(index)
