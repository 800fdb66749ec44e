"""Stored trees of branches: packed parts in the object store, addressed by content. Each node caches the joined trees.

A response always shows the commit of the index. Without a stored tree it is built from the rows.
"""

from dataclasses import dataclass

import orjson
import structlog

from app.core import clock
from app.core.errors import NotFound, ServiceUnavailable
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.storage.cached import CachedObjectStore
from app.drivers.storage.port import ObjectMissing
from app.extensions import db, jobs
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content import unreadable
from app.resources.project_content.tree import packed_tree, tree_parts, tree_rows
from app.resources.project_content.tree.tree_parts import TreePart
from app.resources.project_content.tree.tree_rows import IndexMoved

log = structlog.get_logger(__name__)

MESSAGE = "Project content"
PREFIX, MIMETYPE = "trees/", "application/octet-stream"
ATTEMPTS = 5


@dataclass(frozen=True)
class TreeResponse:
    """A complete tree as a response: the start of its JSON and the packed files, with the commit as its ETag."""

    commit_sha: str | None
    start: bytes
    files: bytes
    codings = ("gzip",)

    def encoded(self, _coding: str, /) -> bytes:
        """Return the response as gzip."""
        return packed_tree.to_gzip(self.start, self.files)

    def plain(self) -> bytes:
        """Return the response without compression."""
        return packed_tree.plain(self.start, self.files)


def whole(project_id: str, index: ContentIndex | None, branch: str, *, trees: CachedObjectStore) -> TreeResponse:
    """Return the complete tree of a branch with the present state of its index."""
    files = read(index, trees) if index is not None and index.commit_sha else packed_tree.join(())
    return TreeResponse(index.commit_sha if index else None, head(index, project_id, branch), files)


def facts(index: ContentIndex | None, project_id: str, branch: str) -> dict[str, object]:
    """Return the fields of a tree response other than the files."""
    return {
        "project_id": project_id,
        "branch": branch,
        "commit_sha": index.commit_sha if index else None,
        "status": str(index.status) if index else str(IndexStatus.QUEUED),
        "indexed_at": clock.iso(index.indexed_at) if index and index.indexed_at else None,
        "total": index.files if index else 0,
        "unreadable": unreadable.paths(index),
    }


def head(index: ContentIndex | None, project_id: str, branch: str) -> bytes:
    """Return the response up to the opening of its `files` array."""
    result = facts(index, project_id, branch)
    envelope = {"statusCode": 200, "success": True, "message": MESSAGE, "result": result}
    return orjson.dumps(envelope)[:-2] + b',"files":['


def is_fresh(index: ContentIndex) -> bool:
    """Return whether the stored tree is that of the index's commit."""
    return index.snapshot_key is not None and index.snapshot_sha == index.commit_sha


def enqueue(index_id: str) -> None:
    """Enqueue the storage of a tree."""
    name = f"content.snapshot:{index_id}"
    jobs.enqueue("content.snapshot", unique=name, lock=name, index_id=index_id)


def refresh(index_id: str, trees: CachedObjectStore, max_objects: int = tree_parts.MAX_OBJECTS) -> None:
    """Store the tree of the index's commit: pack its changed parts, write the object, then store its key in the row.

    Raises:
        DriverError: the object store is unavailable.
    """
    db.session.expire_all()
    index = db.session.get(ContentIndex, index_id)
    if index is None or index.commit_sha is None or is_fresh(index):
        return
    commit_sha, prefix = index.commit_sha, f"{PREFIX}{index.project_id}/"
    try:
        parts = _parts(index, trees)
        if len(tree_parts.objects_of(parts)) >= max_objects:
            parts = _merged(parts, trees) or tree_parts.pack_all(tree_rows.rows(index))
    except IndexMoved:
        return  # The job that moved the index enqueued this again.
    key, data = tree_parts.encode(parts, prefix)
    trees.put(key, data, mimetype=MIMETYPE)
    with transactions.locked_row(ContentIndex, index_id) as current:
        if current is not None and current.commit_sha == commit_sha:
            current.snapshot_sha, current.snapshot_key = commit_sha, key
            current.snapshot_changes = tree_parts.no_changes(commit_sha)


def read(index: ContentIndex, trees: CachedObjectStore) -> bytes:
    """Return the packed files of the index's commit. Does not fail if the object store is unavailable."""
    cached = trees.get_cached(_cache_key(index), packed_tree.is_valid)
    if cached is not None:
        return cached
    return (_stored(index, trees) if is_fresh(index) else None) or _built(index, trees)


def stored_objects(index_key: str, trees: CachedObjectStore) -> set[str]:
    """Return the keys of all objects of a stored tree. Raises DriverError."""
    try:
        return {index_key} | tree_parts.objects_of(_table(index_key, trees))
    except ObjectMissing:
        return {index_key}


def _table(key: str, trees: CachedObjectStore) -> list[TreePart]:
    """Return the parts of a stored tree. Raises ObjectMissing and DriverError."""
    return tree_parts.decode(key, trees.get(key, tree_parts.is_valid))


def _parts(index: ContentIndex, trees: CachedObjectStore) -> list[TreePart]:
    """Return the parts of the index's commit: changed ones from the rows, or all if the stored tree cannot be read."""
    with transactions.outside_transaction():
        if tree_parts.can_update(index):
            try:
                parts = tree_parts.update(index, _table(str(index.snapshot_key), trees))
            except DriverError as error:
                log.warning("trees.store_unavailable", index_id=index.id, error=str(error))
            else:
                if parts is not None:
                    return parts
        return tree_parts.pack_all(tree_rows.rows(index))


def _merged(parts: list[TreePart], trees: CachedObjectStore) -> list[TreePart] | None:
    """Return the parts with their packed files, or None if an object is missing. Raises DriverError."""
    try:
        return list(tree_parts.loaded(parts, lambda key: trees.get(key, tree_parts.is_valid)))
    except ObjectMissing:
        return None


def _joined(index: ContentIndex, parts: list[TreePart], trees: CachedObjectStore) -> bytes:
    """Join the parts and cache the tree on this node. Raises ObjectMissing and DriverError."""
    data = tree_parts.join(parts, lambda key: trees.get(key, tree_parts.is_valid))
    trees.store_locally(_cache_key(index), data)
    return data


def _stored(index: ContentIndex, trees: CachedObjectStore) -> bytes | None:
    try:
        with transactions.outside_transaction():
            return _joined(index, _table(str(index.snapshot_key), trees), trees)
    except ObjectMissing:
        _enqueue_missing(index.id, str(index.snapshot_key))
    except DriverError as error:
        log.warning("trees.store_unavailable", index_id=index.id, error=str(error))
    return None


def _built(index: ContentIndex, trees: CachedObjectStore) -> bytes:
    """Build the tree from the stored parts and the rows, or from the rows only if an object cannot be read."""
    for attempt in range(ATTEMPTS):
        try:
            parts = _parts(index, trees) if attempt == 0 else tree_parts.pack_all(tree_rows.rows(index))
            return _joined(index, parts, trees)
        except IndexMoved:
            db.session.refresh(index)
        except DriverError as error:
            log.warning("trees.store_unavailable", index_id=index.id, error=str(error))
    raise ServiceUnavailable("The branch changes too often to be read", retry_after_s=1)


def _cache_key(index: ContentIndex) -> str:
    """Return the key of a joined tree in the cache of a node."""
    return f"{index.id}/{index.generation}/{index.commit_sha}"


def _enqueue_missing(index_id: str, key: str) -> None:
    """Enqueue the storage of a tree that is missing in the object store."""
    with transactions.locked_row(ContentIndex, index_id) as index:
        if index is None:
            raise NotFound("The branch no longer exists")
        if index.snapshot_key == key:
            index.snapshot_sha = index.snapshot_key = None
            enqueue(index_id)
