"""Indexing of texts: reads new blobs of a project and stores their words, links, front matter and sets of fields.

Texts are stored by blob, so branches share them and moved files cost nothing. The work covers the changes since the
commit of the previous run. A file that cannot be read is skipped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from typing import cast

import orjson
import sqlalchemy as sa
import structlog

from app.content import galley_file
from app.content.draft_state import DraftField, is_draft
from app.content.field_values import field_values
from app.content.links import key_of
from app.content.schema import declared_dates, front_matter_cms
from app.content.schema.model import ContentSchema
from app.content.search_text import SearchText, has_text, read_text
from app.core.jobs import LOWEST_PRIORITY
from app.database import inserts, transactions
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.drivers.git.port import EntryType, PathChange, TreeEntry
from app.extensions import db, jobs
from app.models.base import Row
from app.models.content_search import ContentField, ContentLink, ContentText
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import unreadable
from app.resources.project_content.entries import entry_shapes
from app.resources.project_content.index import date_keys
from app.resources.project_content.schema import schema_sources
from app.resources.project_content.search import search_words
from app.resources.project_content.source import Source
from app.resources.project_content.statistics import GrowthStatistics, analyze
from app.resources.project_content.tree.folder_listing import date_of, title_key

log = structlog.get_logger(__name__)

LISTING_PAGE, PATHS, MAX_DATE = 2_000, 500, 100
_FILES: sa.Table = sa.inspect(ContentFile).local_table  # type: ignore[assignment]
_UPDATE = (
    sa.update(_FILES)
    .where(
        _FILES.c.index_id == sa.bindparam("index"),
        _FILES.c.generation == sa.bindparam("number"),
        _FILES.c.path == sa.bindparam("of_path"),
        # A commit may have replaced the file since its text was read.
        _FILES.c.sha == sa.bindparam("of_sha"),
    )
    .values(title_key=sa.bindparam("title"), date_key=sa.bindparam("date"), is_draft=sa.bindparam("draft"))
)
PAGE, SHAS = 2_000, 500
MAX_BLOB_BYTES = 2 * 1024 * 1024
MAX_HELD_CHARACTERS = 4 * 1024 * 1024
SYMLINK = "120000"
READER_VERSION = 3
"""Version 1 stores words with their combining marks, version 2 the first items of lists in their keys,
version 3 links with spaces, `#` and `?`."""
TEXT_COLUMNS = ("project_id", "sha", "title", "body", "words", "front_matter", "version")
LINK_COLUMNS = ("project_id", "sha", "number", "key", "url", "kind")
FIELD_COLUMNS = ("project_id", "name", "number", "kind", "key", "sha")
FILTER_COLUMNS = {ContentText: ("project_id", "sha"), ContentField: ("project_id", "name", "key", "sha", "number")}
_Changes = Callable[[str | None], Sequence[PathChange] | None]
"""Returns the changes of the tree since a commit, or None if they are unknown."""


def store_values(
    index: ContentIndex, changed: Sequence[str] | None, *, source: Source, commit_sha: str, since: str | None
) -> None:
    """Store the values of the files at the paths that changed between two commits, or of all files.

    All files are read again if a file changed that names the field of drafts or the formats of dates.
    Their texts are stored already. If a new generation resets `listed_sha` in the meantime, it keeps that value.
    """
    index_id, generation, draft = index.id, index.generation, _draft_field(index, source)
    schema = schema_sources.declared_schema(index, source)
    is_complete = changed is None or any(map(schema_sources.is_schema_file, changed))
    has_formats = schema is not None and declared_dates.has_formats(schema)
    for rows in _rows(index) if changed is None or is_complete else _rows_at(index, changed):
        dates = [_dates(schema if has_formats else None, row) for row in rows]
        values = [
            _values(row.path, row.sha, row.title, row.front_matter, draft, own)
            | {"index": index_id, "number": generation}
            for row, own in zip(rows, dates, strict=True)
        ]
        if values:
            with transactions.write_transaction():
                db.session.connection().execute(_UPDATE, values)
                if has_formats or is_complete:
                    own = {row.sha: own for row, own in zip(rows, dates, strict=True) if row.front_matter}
                    date_keys.store(index.project_id, own)
    with transactions.write_transaction():
        is_unchanged = ContentIndex.listed_sha.is_not_distinct_from(since)
        statement = sa.update(ContentIndex).where(
            ContentIndex.id == index_id, ContentIndex.generation == generation, is_unchanged
        )
        db.session.execute(statement.values(listed_sha=commit_sha))


def _draft_field(index: ContentIndex, source: Source) -> DraftField | None:
    """Return the field that marks drafts if the settings of Front Matter CMS name it."""
    statement = sa.select(ContentFile.sha, ContentFile.size).where(
        ContentFile.index_id == index.id,
        ContentFile.generation == index.generation,
        ContentFile.path == front_matter_cms.FILE,
    )
    row = db.session.execute(statement).first()
    if row is None:
        return None
    try:
        with transactions.outside_transaction():
            data = source.repository.blob(row.sha, max_bytes=galley_file.MAX_BYTES)
            return front_matter_cms.read_draft_setting(front_matter_cms.FILE, data)
    except (GitObjectMissing, TooLargeToRead):
        return None


def _dates(schema: ContentSchema | None, row: Row) -> dict[str, str]:
    return declared_dates.declared_dates(schema, row.path, row.front_matter) if schema and row.front_matter else {}


def _values(
    path: str,
    sha: str,
    title: str | None,
    front_matter: dict[str, object] | None,
    draft: DraftField | None,
    dates: Mapping[str, str],
) -> dict[str, object]:
    values = front_matter or {}
    date = dates.get("date") or date_of(values)
    return {
        "of_path": path,
        "of_sha": sha,
        "title": title_key(path, title),
        "date": date and date[:MAX_DATE],
        "draft": is_draft(values, draft),
    }


def _rows(index: ContentIndex) -> Iterator[Sequence[Row]]:
    """Yield all files of an index with title and front matter."""
    after = ""
    while True:
        statement = _select(index).where(ContentFile.path > after).order_by(ContentFile.path).limit(LISTING_PAGE)
        page = db.session.execute(statement).all()
        yield page
        if len(page) < LISTING_PAGE:
            return
        after = page[-1].path


def _rows_at(index: ContentIndex, paths: Sequence[str]) -> Iterator[Sequence[Row]]:
    for part in inserts.batches(paths, PATHS):
        yield db.session.execute(_select(index).where(ContentFile.path.in_(part))).all()


def _select(index: ContentIndex) -> sa.Select[*tuple[object, ...]]:
    file, text = ContentFile, ContentText
    is_text = sa.and_(text.project_id == index.project_id, text.sha == file.sha)
    statement = sa.select(file.path, file.sha, text.title, text.front_matter).outerjoin(text, is_text)
    return statement.where(file.index_id == index.id, file.generation == index.generation, file.type == "blob")


@dataclass(frozen=True)
class _Blob:
    path: str
    sha: str


@dataclass(frozen=True)
class _Read:
    sha: str
    text: SearchText


def enqueue(index: ContentIndex, *, delay: timedelta = timedelta(0)) -> None:
    """Enqueue the indexing of new texts. The runs of one project are serial, delayed runs excepted."""
    jobs.enqueue(
        "content.describe",
        delay=delay,
        unique=f"content.describe:{index.id}",
        lock=f"content.describe:{index.project_id}",
        priority=LOWEST_PRIORITY if delay else None,
        index_id=index.id,
    )


def index_new_texts(
    index: ContentIndex, source: Source, *, at_most: int | None, progress: Callable[[int, None], None]
) -> bool:
    """Read new blobs, then store the sets of fields and the values for lists.

    Return False if `at_most` blobs were read and more remain.
    """
    if index.commit_sha is None:
        return True
    changes, commit_sha = cache(partial(_changed, index, source)), index.commit_sha
    if commit_sha != index.described_sha and not _read_blobs(index, source, changes, at_most, progress):
        return False
    for stored_sha, store in (
        (index.shaped_sha, entry_shapes.store_shapes),
        (index.listed_sha, partial(store_values, source=source)),
    ):
        if commit_sha != stored_sha:
            changed = changes(stored_sha)
            paths = None if changed is None else [change.path for change in changed]
            store(index, paths, commit_sha=commit_sha, since=stored_sha)
    return True


def _read_blobs(
    index: ContentIndex,
    source: Source,
    changes: _Changes,
    at_most: int | None,
    progress: Callable[[int, None], None],
) -> bool:
    project_id, commit_sha, since, done = index.project_id, index.commit_sha, index.described_sha, 0
    statistics = GrowthStatistics(FILTER_COLUMNS)
    if since is None:
        analyze(ContentFile, ("index_id", "generation", "path", "type", "mode", "sha"))
    for part in inserts.batches(_missing_blobs(index, changes, since), min(SHAS, at_most or SHAS)):
        if at_most is not None and done >= at_most:
            return False
        stored: set[str] = set()
        with transactions.outside_transaction():
            for held in _held(_texts(source, part)):
                _store(project_id, held)
                stored |= {read.sha for read in held}
        unreadable.mark(project_id, [blob.sha for blob in part if blob.sha not in stored])
        done += len(part)
        statistics.add(len(part))
        progress(done, None)
    with transactions.write_transaction():
        search_words.merge_new_texts(db.session.connection())
        # The cleanup may have reset the value in the meantime. The job that it enqueued starts again then.
        is_unchanged = ContentIndex.described_sha.is_not_distinct_from(since)
        statement = sa.update(ContentIndex).where(ContentIndex.id == index.id, is_unchanged)
        db.session.execute(statement.values(described_sha=commit_sha))
    return True


def _missing_blobs(index: ContentIndex, changes: _Changes, since: str | None) -> Iterator[_Blob]:
    """Yield blobs of text that are not stored, each once."""
    checked: set[str] = set()
    changed = changes(since)
    entries = _all(index) if changed is None else (change.entry for change in changed if change.entry is not None)
    readable = (_Blob(entry.path, entry.sha) for entry in entries if _is_readable(entry))
    for page in inserts.batches(readable, PAGE):
        fresh = {blob.sha: blob for blob in page if blob.sha not in checked}
        stored_shas = _known(index.project_id, fresh)
        checked |= fresh.keys()
        yield from (blob for sha, blob in fresh.items() if sha not in stored_shas)


def _changed(index: ContentIndex, source: Source, since: str | None) -> list[PathChange] | None:
    """Return the changes of the tree since a commit, or None if they are unknown."""
    if since is None or index.commit_sha is None:
        return None
    commit_sha = index.commit_sha
    try:
        with transactions.outside_transaction():
            return list(source.repository.changes(since, commit_sha))
    except GitObjectMissing:
        return None


def _all(index: ContentIndex) -> Iterator[TreeEntry]:
    file, after = ContentFile, ""
    while True:
        page = db.session.execute(
            sa.select(file.path, file.type, file.mode, file.sha, file.size)
            .where(file.index_id == index.id, file.generation == index.generation, file.path > after)
            .order_by(file.path)
            .limit(PAGE)
        ).all()
        yield from (TreeEntry(*row) for row in page)
        if len(page) < PAGE:
            return
        after = page[-1].path


def _is_readable(entry: TreeEntry) -> bool:
    is_file = entry.type == EntryType.BLOB and entry.mode != SYMLINK
    return is_file and (entry.size or 0) <= MAX_BLOB_BYTES and has_text(entry.path)


def _known(project_id: str, shas: Iterable[str]) -> set[str]:
    text, stored_shas = ContentText, set()
    for part in inserts.batches(shas, SHAS):
        stored = sa.select(text.sha).where(text.project_id == project_id, text.sha.in_(part))
        is_current = text.version >= READER_VERSION
        stored_shas |= set(db.session.scalars(stored.where(text.front_matter.is_not(sa.null()), is_current)))
    return stored_shas


def _texts(source: Source, blobs: list[_Blob]) -> Iterator[_Read]:
    paths = {blob.sha: blob.path for blob in blobs}
    for sha, data in source.repository.blobs(paths, max_bytes=MAX_BLOB_BYTES):
        try:
            text = read_text(paths[sha], data) if data is not None else None
        except Exception as error:
            log.warning("content.unreadable", path=paths[sha], sha=sha, error=type(error).__name__)
            text = None
        # Store an empty text for other content, so that it is not read again.
        yield _Read(sha, text or SearchText(None, "", [], [], []))


def _held(texts: Iterable[_Read]) -> Iterator[list[_Read]]:
    """Yield lists of bounded size in memory."""
    held: list[_Read] = []
    size = 0
    for read in texts:
        held.append(read)
        size += len(read.text.body) + 8 * len(read.text.terms)
        if size > MAX_HELD_CHARACTERS:
            yield held
            held, size = [], 0
    if held:
        yield held


def _store(project_id: str, held: list[_Read]) -> None:
    pack = search_words.packer(db.engine.dialect.name)
    rows = [
        (
            project_id,
            r.sha,
            r.text.title,
            r.text.body,
            pack(project_id, r.text),
            orjson.dumps(r.text.front_matter).decode(),
            READER_VERSION,
        )
        for r in held
    ]
    links: list[tuple[object, ...]] = [
        (project_id, r.sha, number, key_of(link.url), link.url, link.kind)
        for r in held
        for number, link in enumerate(r.text.links)
    ]
    values = [
        (project_id, *value, r.sha) for r in held if r.text.front_matter for value in field_values(r.text.front_matter)
    ]
    with transactions.write_transaction():
        _delete_outdated(project_id, [r.sha for r in held])
        connection = db.session.connection()
        inserts.insert(connection, cast("sa.Table", ContentText.__table__), TEXT_COLUMNS, rows)
        inserts.insert(connection, cast("sa.Table", ContentLink.__table__), LINK_COLUMNS, links)
        inserts.insert(connection, cast("sa.Table", ContentField.__table__), FIELD_COLUMNS, values)


def _delete_outdated(project_id: str, shas: Sequence[str]) -> None:
    """Delete texts that an earlier version of the reader has stored. They were read again."""
    text = ContentText
    outdated = db.session.scalars(sa.select(text.sha).where(text.project_id == project_id, text.sha.in_(shas))).all()
    for table in (text, ContentLink, ContentField) if outdated else ():
        conditions = (table.project_id == project_id, table.sha.in_(outdated))
        db.session.execute(sa.delete(table).where(*conditions).execution_options(synchronize_session=False))
