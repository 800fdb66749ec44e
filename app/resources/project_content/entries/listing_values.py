"""Storage of the values by which a folder is sorted and filtered, in the rows of the files of an index."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from app.database import bulk, session
from app.extensions import db
from app.models.content_search import ContentText
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content.tree.folder_listing import date_of, is_draft, title_key

PAGE, PATHS, MAX_DATE = 2_000, 500, 100
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


def store_values(index: ContentIndex, changed: Sequence[str] | None, *, commit_sha: str, since: str | None) -> None:
    """Store the values of the files at the paths that changed between two commits, or of all files.

    Their texts are stored already. If a new generation resets `listed_sha` in the meantime, it keeps that value.
    """
    index_id, generation = index.id, index.generation
    for rows in _rows(index) if changed is None else _rows_at(index, changed):
        values = [_values(*row) | {"index": index_id, "number": generation} for row in rows]
        if values:
            with session.write_transaction():
                db.session.connection().execute(_UPDATE, values)
    with session.write_transaction():
        is_unchanged = ContentIndex.listed_sha.is_not_distinct_from(since)
        statement = sa.update(ContentIndex).where(
            ContentIndex.id == index_id, ContentIndex.generation == generation, is_unchanged
        )
        db.session.execute(statement.values(listed_sha=commit_sha))


def _values(path: str, sha: str, title: str | None, front_matter: dict[str, Any] | None) -> dict[str, Any]:
    values = front_matter or {}
    date = date_of(values)
    return {
        "of_path": path,
        "of_sha": sha,
        "title": title_key(path, title),
        "date": date and date[:MAX_DATE],
        "draft": is_draft(values),
    }


def _rows(index: ContentIndex) -> Iterator[Sequence[Any]]:
    """Yield all files of an index with title and front matter."""
    after = ""
    while True:
        statement = _select(index).where(ContentFile.path > after).order_by(ContentFile.path).limit(PAGE)
        page = db.session.execute(statement).all()
        yield page
        if len(page) < PAGE:
            return
        after = page[-1].path


def _rows_at(index: ContentIndex, paths: Sequence[str]) -> Iterator[Sequence[Any]]:
    for part in bulk.batches(paths, PATHS):
        yield db.session.execute(_select(index).where(ContentFile.path.in_(part))).all()


def _select(index: ContentIndex) -> sa.Select[Any]:
    file, text = ContentFile, ContentText
    is_text = sa.and_(text.project_id == index.project_id, text.sha == file.sha)
    statement = sa.select(file.path, file.sha, text.title, text.front_matter).outerjoin(text, is_text)
    return statement.where(file.index_id == index.id, file.generation == index.generation, file.type == "blob")
