"""Makes an index's text findable: reads what nobody has read of a project's blobs, and keeps their words and links.

Kept by blob, so that branches share it and moved files cost nothing. Follows the index by what changed since the commit
it was last done for; a file that cannot be read is passed over.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import sqlalchemy as sa
import structlog

from app import transactions
from app.core.content.links import key_of
from app.core.content.search_text import SearchText, has_text, read_text
from app.core.jobs import BEHIND_ALL_OTHERS
from app.drivers.git.port import EntryType, ObjectNotFound
from app.extensions import db, jobs
from app.models import bulk
from app.models.content_search import ContentLink, ContentText
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import search_words
from app.resources.project_content.source import Source

log = structlog.get_logger(__name__)

PAGE, SHAS = 2_000, 500
MAX_BLOB_BYTES = 2 * 1024 * 1024
MAX_HELD_CHARACTERS = 4 * 1024 * 1024
SYMLINK = "120000"
TEXT_COLUMNS = ("project_id", "sha", "title", "body", "words")
LINK_COLUMNS = ("project_id", "sha", "number", "key", "url", "kind")


@dataclass(frozen=True)
class _Blob:
    path: str
    sha: str


@dataclass(frozen=True)
class _Read:
    sha: str
    text: SearchText


def ask(index: ContentIndex, *, delay: timedelta = timedelta(0)) -> None:
    """Enqueue the reading of what is new; one project's readings come one after another, those that rest excepted."""
    jobs.enqueue(
        "content.describe", delay=delay, unique=f"content.describe:{index.id}",
        lock=f"content.describe:{index.project_id}", priority=BEHIND_ALL_OTHERS if delay else None, index_id=index.id,
    )  # fmt: skip


def catch_up(
    index: ContentIndex, source: Source, *, at_most: int | None, progress: Callable[[int, None], None]
) -> bool:
    """Read the blobs that are new; False when `at_most` of them were read and more are left."""
    project_id, commit_sha, done, counted = index.project_id, index.commit_sha, 0, 0
    if commit_sha is None or commit_sha == index.described_sha:
        return True
    if index.described_sha is None:
        _take_stock(ContentFile, ("index_id", "generation", "path"))
    for part in bulk.batches(_wanted(index, source), SHAS):
        if at_most is not None and done >= at_most:
            return False
        for held in _held(_texts(source, part)):
            _keep(project_id, held)
        done += len(part)
        if done >= 2 * counted:
            _take_stock(ContentText, ("project_id", "sha"))
            counted = done
        progress(done, None)
    with transactions.writing():
        db.session.execute(sa.update(ContentIndex).where(ContentIndex.id == index.id).values(described_sha=commit_sha))
    return True


def _take_stock(table: Any, columns: Sequence[str]) -> None:
    with transactions.writing():
        bulk.take_stock(db.session.connection(), table.__table__, columns)


def _wanted(index: ContentIndex, source: Source) -> Iterator[_Blob]:
    """Blobs of text that are not kept yet, each once."""
    seen: set[str] = set()
    found = _changed(index, source)
    for page in bulk.batches(found if found is not None else _all(index), PAGE):
        fresh = {blob.sha: blob for blob in page if blob.sha not in seen}
        known = _known(index.project_id, fresh)
        seen |= fresh.keys()
        yield from (blob for sha, blob in fresh.items() if sha not in known)


def _changed(index: ContentIndex, source: Source) -> Iterator[_Blob] | None:
    """What changed since the last time; None where that cannot be told."""
    if index.described_sha is None or index.commit_sha is None:
        return None
    try:
        changes = list(source.git.changes(source.repo, index.described_sha, index.commit_sha))
    except ObjectNotFound:
        return None
    entries = (change.entry for change in changes if change.entry is not None)
    return (_Blob(e.path, e.sha) for e in entries if _is_readable(e.path, e.type, e.mode, e.size))


def _all(index: ContentIndex) -> Iterator[_Blob]:
    file, after = ContentFile, ""
    while True:
        page = db.session.execute(
            sa.select(file.path, file.type, file.mode, file.size, file.sha)
            .where(file.index_id == index.id, file.generation == index.generation, file.path > after)
            .order_by(file.path)
            .limit(PAGE)
        ).all()
        yield from (_Blob(path, sha) for path, kind, mode, size, sha in page if _is_readable(path, kind, mode, size))
        if len(page) < PAGE:
            return
        after = page[-1].path


def _is_readable(path: str, kind: str, mode: str, size: int | None) -> bool:
    return kind == EntryType.BLOB and mode != SYMLINK and (size or 0) <= MAX_BLOB_BYTES and has_text(path)


def _known(project_id: str, shas: Iterable[str]) -> set[str]:
    text, known = ContentText, set()
    for part in bulk.batches(shas, SHAS):
        known |= set(db.session.scalars(sa.select(text.sha).where(text.project_id == project_id, text.sha.in_(part))))
    return known


def _texts(source: Source, blobs: list[_Blob]) -> Iterator[_Read]:
    paths = {blob.sha: blob.path for blob in blobs}
    for sha, data in source.git.blobs(source.repo, paths):
        try:
            text = read_text(paths[sha], data) if data is not None and len(data) <= MAX_BLOB_BYTES else None
        except Exception as error:
            log.warning("content.unreadable", path=paths[sha], sha=sha, error=type(error).__name__)
            text = None
        # What is no text is kept as nothing, so that it is not read again and again.
        yield _Read(sha, text or SearchText(None, "", [], [], []))


def _held(texts: Iterable[_Read]) -> Iterator[list[_Read]]:
    """Lists that are small in memory, however long the texts are."""
    held: list[_Read] = []
    size = 0
    for read in texts:
        held.append(read)
        size += len(read.text.body) + 8 * len(read.text.words)
        if size > MAX_HELD_CHARACTERS:
            yield held
            held, size = [], 0
    if held:
        yield held


def _keep(project_id: str, held: list[_Read]) -> None:
    pack = search_words.packer(db.engine.dialect.name)
    rows = [(project_id, r.sha, r.text.title, r.text.body, pack(project_id, r.text)) for r in held]
    links: list[tuple[Any, ...]] = [
        (project_id, r.sha, number, key_of(link.url), link.url, link.kind)
        for r in held
        for number, link in enumerate(r.text.links)
    ]
    with transactions.writing():
        connection = db.session.connection()
        bulk.insert(connection, cast("sa.Table", ContentText.__table__), TEXT_COLUMNS, rows)
        bulk.insert(connection, cast("sa.Table", ContentLink.__table__), LINK_COLUMNS, links)
