"""Brings a branch's index to the branch's head: cold into a new generation, or only what changed.

The old generation is served until the new one is whole. Nothing here waits for Git inside a transaction.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import sqlalchemy as sa

from app import transactions
from app.core import clock
from app.core.content.words import fold
from app.drivers.git.port import CommitInfo, ObjectNotFound, PathChange
from app.extensions import db, jobs
from app.models import bulk
from app.models.base import moment
from app.models.project_content import ContentFile, ContentIndex, IndexStatus
from app.models.project_log import LogAction, LogSource
from app.resources.project.activity import FileEvent, FilesChanged, files_changed
from app.resources.project_content import describing, snapshot, sweeping
from app.resources.project_content.source import Source

BATCH = 5_000
INCREMENTAL_AT_MOST = 20_000
"""More changed paths than this are indexed as a new generation."""

HISTORY_AT_MOST = 1_000
"""Of a longer push, the older commits' log entries and last-commit facts are not written; they are found on demand."""

COLUMNS = ("index_id", "generation", "path", "type", "mode", "sha", "size", "folded")
Progress = Callable[[int, int | None], None]


def catch_up(index: ContentIndex, source: Source, progress: Progress) -> None:
    """Index the branch's present head. Reads outside transactions, writes in short ones; safe to run twice."""
    head = source.git.head(source.repo, source.branch)
    if index.commit_sha == head:
        _confirm(index)
    elif not _incremental(index, source, head):
        _cold(index, source, head, progress)
    _ask_for_the_rest(index.id)


def _ask_for_the_rest(index_id: str) -> None:
    """What takes as long as the tree is large, or waits for many blobs, is done by jobs of its own."""
    with transactions.writing():
        found = db.session.get(ContentIndex, index_id)
        if found is not None and not snapshot.is_fresh(found):
            snapshot.ask(found.id)
        if found is not None and found.described_sha != found.commit_sha:
            describing.ask(found)


def _confirm(index: ContentIndex) -> None:
    if index.status != IndexStatus.READY:
        with transactions.writing():
            found = _lock(index.id)
            if found is not None:
                found.status, found.problem, found.progress = IndexStatus.READY, None, None


def _incremental(index: ContentIndex, source: Source, head: str) -> bool:
    """Apply what changed since the indexed commit; False when that cannot be told, or is nearly everything."""
    old = index.commit_sha
    if old is None or index.generation == 0:
        return False
    try:
        changes = list(islice(source.git.changes(source.repo, old, head), INCREMENTAL_AT_MOST + 1))
    except ObjectNotFound:
        return False
    if len(changes) > INCREMENTAL_AT_MOST:
        return False
    grown = source.git.is_ancestor(source.repo, old, head)
    history = source.git.history(source.repo, head, since=old) if grown else iter(())
    last = last_commits(islice(history, HISTORY_AT_MOST))
    with transactions.writing():
        found = _lock(index.id)
        if found is None or found.commit_sha != old:
            return True  # somebody else moved it on; their job, or the next look, goes on from there
        if not grown:
            _forget_last_commits(found)
        before = apply(found, head, changes, last)
        files_changed.announce(FilesChanged(found.project_id, LogSource.PUSH, _events(changes, before, last, head)))
    return True


def _cold(index: ContentIndex, source: Source, head: str, progress: Progress) -> None:
    index_id, generation, files = index.id, _start_generation(index), 0
    for batch in bulk.batches(source.git.tree(source.repo, head), BATCH):
        files += sum(e.type == "blob" for e in batch)
        with transactions.writing():
            rows = ((index_id, generation, *e, folded(e.path)) for e in batch)
            bulk.insert(db.session.connection(), ContentFile.__table__, COLUMNS, rows)  # type: ignore[arg-type]
            db.session.execute(sa.update(ContentIndex).where(ContentIndex.id == index_id).values(progress=files))
        progress(files, None)
    with transactions.writing():
        found = _lock(index_id)
        if found is None:
            return
        found.generation, found.commit_sha, found.files = generation, head, files
        _mark_ready(found)
    _drop_generations(index_id, generation)


def _start_generation(index: ContentIndex) -> int:
    with transactions.writing():
        found = _lock(index.id)
        if found is not None and found.commit_sha is None:
            found.status = IndexStatus.INDEXING
        newest = db.session.scalar(
            sa.select(sa.func.max(ContentFile.generation)).where(ContentFile.index_id == index.id)
        )
        return max(newest or 0, index.generation) + 1


def _drop_generations(index_id: str, kept: int) -> None:
    """Delete the rows of other generations, some thousand a transaction."""
    while sweeping.delete_some(ContentFile.index_id == index_id, ContentFile.generation != kept):
        pass


def _lock(index_id: str) -> ContentIndex | None:
    return db.session.scalar(
        sa.select(ContentIndex)
        .where(ContentIndex.id == index_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )


def apply(
    index: ContentIndex, commit_sha: str, changes: Sequence[PathChange], last: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Change the rows of the present generation and move the index to `commit_sha`, in the running transaction.

    Costs as much as there are changes, however large the tree. Returns what the changed paths were before, by type.
    """
    file, here = ContentFile, (ContentFile.index_id == index.id, ContentFile.generation == index.generation)
    before: dict[str, str] = {}
    for part in bulk.batches((change.path for change in changes), 500):
        there = db.session.execute(sa.select(file.path, file.type).where(*here, file.path.in_(part)))
        before.update({path: kind for path, kind in there})  # noqa: C416 (rows are not tuples to the type checker)
        db.session.execute(
            sa.delete(file).where(*here, file.path.in_(part)).execution_options(synchronize_session=False)
        )
    present = [
        {
            "index_id": index.id,
            "generation": index.generation,
            **c.entry._asdict(),
            "folded": folded(c.path),
            "last_commit": last.get(c.path),
        }
        for c in changes
        if c.entry is not None
    ]
    if present:
        db.session.execute(sa.insert(file), present)
    index.files += sum(row["type"] == "blob" for row in present) - sum(kind == "blob" for kind in before.values())
    index.commit_sha = commit_sha
    _mark_ready(index)
    db.session.flush()
    return before


def folded(path: str) -> str | None:
    """The path as search compares it, where the database cannot tell by itself."""
    return None if path.isascii() else fold(path)


def _events(
    changes: Iterable[PathChange], before: Mapping[str, str], last: Mapping[str, Mapping[str, str]], head: str
) -> tuple[FileEvent, ...]:
    def action(change: PathChange) -> LogAction:
        if change.entry is None:
            return LogAction.DELETE
        return LogAction.UPDATE if change.path in before else LogAction.CREATE

    return tuple(
        FileEvent(c.path, action(c), last.get(c.path, {}).get("sha", head), last.get(c.path, {}).get("author"))
        for c in changes
    )


def _mark_ready(index: ContentIndex) -> None:
    index.status, index.problem, index.progress, index.indexed_at = IndexStatus.READY, None, None, moment()


def _forget_last_commits(index: ContentIndex) -> None:
    """After a rewritten branch, even unchanged files may have another last commit."""
    db.session.execute(
        sa.update(ContentFile)
        .where(ContentFile.index_id == index.id, ContentFile.generation == index.generation)
        .values(last_commit=sa.null())
    )


def last_commits(history: Iterable[CommitInfo]) -> dict[str, dict[str, str]]:
    """Path → its newest commit, of a history given newest first."""
    found: dict[str, dict[str, str]] = {}
    for commit in history:
        for path in commit.paths:
            found.setdefault(path, told(commit))
    return found


def told(commit: CommitInfo) -> dict[str, str]:
    """A commit as file metadata shows it."""
    return {
        "sha": commit.sha,
        "message": commit.message,
        "author": commit.author.name,
        "date": clock.iso(commit.date),
    }


def ask(index: ContentIndex, *, priority: int = 0) -> str | None:
    """Enqueue the index's next look at its branch; one waits at a time."""
    return jobs.enqueue(
        "content.index", unique=f"content.index:{index.id}", lock=f"content:{index.id}", priority=priority,
        index_id=index.id,
    )  # fmt: skip
