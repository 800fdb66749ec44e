"""The stored tree of a branch: its files packed, in the object store under their address, and near every node that read it.

What is served is of the commit the index is at, always: where nothing stored is, it is made from the rows.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import orjson
import sqlalchemy as sa
import structlog
from flask import current_app

from app import transactions
from app.core import clock
from app.core.errors import NotFound, Unavailable
from app.drivers.errors import DriverError
from app.drivers.storage.near import NearStore
from app.drivers.storage.port import ObjectMissing
from app.extensions import db, jobs
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import packing

log = structlog.get_logger(__name__)

MESSAGE = "Project content"
PREFIX, MIMETYPE = "trees/", "application/octet-stream"
PAGE, ATTEMPTS = 5_000, 5


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


class Moved(Exception):
    """The branch was indexed further between reading its index and its files."""


def rows(index: ContentIndex) -> Iterator[dict[str, Any]]:
    """The files of the index's commit, as answers show them, in Git's order; streamed by one statement.

    One statement sees one state: no file of the commit before or after is among them.

    Raises:
        Moved: the index given is not the present one any more.
    """
    file, seen = ContentFile, False
    commit_sha = sa.select(ContentIndex.commit_sha).where(ContentIndex.id == index.id).scalar_subquery()
    wanted = (
        sa.select(file.path, file.type, file.mode, file.sha, file.size, commit_sha)
        .where(file.index_id == index.id, file.generation == index.generation)
        .order_by(file.path)
    )
    transactions.rest()
    with _streaming() as connection:
        for path, kind, mode, sha, size, now_at in connection.execute(wanted):
            if now_at != index.commit_sha:
                raise Moved
            seen = True
            yield entry(path, kind, mode, sha, size)
    if not seen and index.files:
        raise Moved


def _streaming() -> AbstractContextManager[sa.Connection]:
    """A connection beside the session's that gives rows as they are asked for."""
    if db.engine.dialect.name == "postgresql":
        return db.engine.connect().execution_options(stream_results=True, max_row_buffer=PAGE)
    reading: sa.Engine = current_app.extensions["reading_engine"]
    return reading.connect()


def is_fresh(index: ContentIndex) -> bool:
    """Whether what is stored is of the commit the index is at."""
    return index.snapshot_key is not None and index.snapshot_sha == index.commit_sha


def ask(index_id: str) -> None:
    """Enqueue its storing; a person may be waiting for it."""
    name = f"content.snapshot:{index_id}"
    jobs.enqueue("content.snapshot", unique=name, lock=name, index_id=index_id)


def refresh(index_id: str, trees: NearStore) -> None:
    """Store the tree of the commit the index is at: packed while reading, put, then named in a short transaction.

    Raises:
        DriverError: the object store does not take it now; this node has it all the same.
    """
    db.session.expire_all()
    index = db.session.get(ContentIndex, index_id)
    if index is None or index.commit_sha is None or is_fresh(index):
        return
    try:
        commit_sha, packed = index.commit_sha, packing.pack(rows(index))
    except Moved:
        return  # whoever moved it has asked for this again
    key = f"{PREFIX}{index.project_id}/{packed.address}"
    trees.keep(_unnamed(index), packed.data)
    transactions.rest()
    trees.put(key, packed.data, mimetype=MIMETYPE)
    with transactions.writing():
        found = db.session.get(ContentIndex, index_id, with_for_update=True, populate_existing=True)
        if found is not None and found.commit_sha == commit_sha:
            found.snapshot_sha, found.snapshot_key = commit_sha, key


def read(index: ContentIndex, trees: NearStore) -> bytes:
    """The packed files of the commit the index is at; never fails for the object store's sake."""
    return (_stored(index, trees) if is_fresh(index) else _near(index, trees)) or _made(index, trees)


def _stored(index: ContentIndex, trees: NearStore) -> bytes | None:
    transactions.rest()
    try:
        return trees.get(str(index.snapshot_key), packing.is_sound)
    except ObjectMissing:
        _told_lost(index.id, str(index.snapshot_key))
    except DriverError as error:
        log.warning("trees.store_unavailable", index_id=index.id, error=str(error))
    return _near(index, trees)


def _near(index: ContentIndex, trees: NearStore) -> bytes | None:
    return trees.near(_unnamed(index), packing.is_sound)


def _made(index: ContentIndex, trees: NearStore) -> bytes:
    """From the rows; kept here, so that the next reader need not wait for what has not been stored yet."""
    for _ in range(ATTEMPTS):
        try:
            data = packing.pack(rows(index)).data
        except Moved:
            db.session.refresh(index)
        else:
            trees.keep(_unnamed(index), data)
            return data
    raise Unavailable("This branch is changing too fast to be read", retry_after_s=1)


def _unnamed(index: ContentIndex) -> str:
    """What a node calls the tree of a commit whose address is not in the index."""
    return f"{index.id}/{index.generation}/{index.commit_sha}"


def _told_lost(index_id: str, key: str) -> None:
    """What should be in the store is not: have it stored again."""
    with transactions.writing():
        index = db.session.get(ContentIndex, index_id, with_for_update=True, populate_existing=True)
        if index is None:
            raise NotFound("There is no such branch any more")
        if index.snapshot_key == key:
            index.snapshot_sha = index.snapshot_key = None
            ask(index_id)
