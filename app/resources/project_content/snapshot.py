"""The whole tree as the answer that is sent: JSON, compressed once, stored, and served as it is.

The array of files is by far the largest part; it is written entry by entry, so that building it needs little memory.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
import sqlalchemy as sa

from app import transactions
from app.core import clock
from app.extensions import db, jobs
from app.models.project_content import ContentFile, ContentIndex, ContentSnapshot

MESSAGE = "Project content"
GZIP = 16 + zlib.MAX_WBITS
LEVEL = 6
PAGE = 5_000
TAIL = b"]}}"


def facts(index: ContentIndex | None, project_id: str, branch: str, status: str) -> dict[str, Any]:
    """What stands beside the files in an answer."""
    return {
        "project_id": project_id,
        "branch": branch,
        "commit_sha": index.commit_sha if index else None,
        "status": status,
        "indexed_at": clock.iso(index.indexed_at) if index and index.indexed_at else None,
        "total": index.files if index else 0,
    }


def head(index: ContentIndex | None, project_id: str, branch: str, status: str) -> bytes:
    """The answer up to the opening of its `files` array."""
    result = facts(index, project_id, branch, status)
    envelope = {"statusCode": 200, "success": True, "message": MESSAGE, "result": result}
    return orjson.dumps(envelope)[:-2] + b',"files":['


def entry(path: str, kind: str, mode: str, sha: str, size: int | None) -> dict[str, Any]:
    """One file as answers show it."""
    return {"path": path, "type": kind, "size": size, "sha": sha, "mode": mode}


def rows(index: ContentIndex) -> Iterator[dict[str, Any]]:
    """The files of the index's present generation, as answers show them, in Git's order; read a page at a time."""
    file, after = ContentFile, ""
    while True:
        page = db.session.execute(
            sa.select(file.path, file.type, file.mode, file.sha, file.size)
            .where(file.index_id == index.id, file.generation == index.generation, file.path > after)
            .order_by(file.path)
            .limit(PAGE)
        ).all()
        for path, kind, mode, sha, size in page:
            yield entry(path, kind, mode, sha, size)
        if len(page) < PAGE:
            return
        after = page[-1].path


def compress(start: bytes, files: Iterable[dict[str, Any]]) -> bytes:
    """The whole answer, gzipped."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    parts = [packer.compress(start)]
    separator = b""
    for file in files:
        parts.append(packer.compress(separator + orjson.dumps(file)))
        separator = b","
    parts += [packer.compress(TAIL), packer.flush()]
    return b"".join(parts)


def build(index: ContentIndex) -> bytes:
    """The answer for a ready index, from its rows."""
    return compress(head(index, index.project_id, index.branch, "ready"), rows(index))


def ask(index: ContentIndex) -> None:
    """Enqueue the writing of the answer; a person may be waiting for it."""
    jobs.enqueue(
        "content.snapshot",
        unique=f"content.snapshot:{index.id}",
        lock=f"content.snapshot:{index.id}",
        index_id=index.id,
    )


def is_fresh(index: ContentIndex) -> bool:
    """Whether the stored answer is of the commit the index is at."""
    snapshot = ContentSnapshot
    return bool(
        db.session.scalar(
            sa.select(sa.literal(True)).where(snapshot.index_id == index.id, snapshot.commit_sha == index.commit_sha)
        )
    )


def refresh(index_id: str) -> None:
    """Bring the stored answer to the commit the index is at; built while reading, stored in a short transaction."""
    db.session.expire_all()
    index = db.session.get(ContentIndex, index_id)
    if index is None or index.commit_sha is None or is_fresh(index):
        return
    commit_sha, body = index.commit_sha, build(index)
    with transactions.writing():
        found = db.session.get(ContentIndex, index_id, with_for_update=True, populate_existing=True)
        if found is not None and found.commit_sha == commit_sha:
            _keep(index_id, commit_sha, body)


def _keep(index_id: str, commit_sha: str, body: bytes) -> None:
    kept = db.session.get(ContentSnapshot, index_id)
    if kept is None:
        db.session.add(ContentSnapshot(index_id=index_id, commit_sha=commit_sha, body=body))
    else:
        kept.commit_sha, kept.body = commit_sha, body


def load(index: ContentIndex) -> bytes | None:
    """The stored answer, when it is of the commit the index is at."""
    snapshot = ContentSnapshot
    return db.session.scalar(
        sa.select(snapshot.body).where(snapshot.index_id == index.id, snapshot.commit_sha == index.commit_sha)
    )


def repack(body: bytes, start: bytes) -> bytes:
    """A stored answer with another beginning: the index's status has changed since it was built."""
    plain = zlib.decompress(body, GZIP)
    opening = b'"files":['
    return gzip.compress(start + plain[plain.index(opening) + len(opening) :], 1)
