"""Tests of trees stored in parts: the joined tree equals the branch, and a commit stores only the changed parts."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from flask import Flask

from app.database import inserts, transactions
from app.drivers.storage.cached import CachedObjectStore
from app.drivers.storage.file_cache import FileCache
from app.drivers.storage.local import LocalStore
from app.extensions import db, drivers
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.resources.project_content.index import cleanup, indexes, indexing
from app.resources.project_content.source import source_of
from app.resources.project_content.tree import packed_tree, tree_parts, tree_rows, tree_snapshot
from tests.resources.project_content.conftest import Site, make_site
from tests.support.world import World

pytestmark = pytest.mark.slow

PATHS = [f"{folder}/{n:02}-é.md" for folder in ("a", "b b", "ß") for n in range(12)]
MAX_OBJECTS = 5


class Store:
    """An object store of a test, with the number of bytes of each stored object."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trees = CachedObjectStore(LocalStore(folder / "store"), FileCache(folder / "near", max_bytes=10_000_000))

    def objects(self) -> dict[str, int]:
        root = self.folder / "store"
        return {str(file.relative_to(root)): file.stat().st_size for file in root.glob("trees/*/*")}


@pytest.fixture
def stored(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def site(world: World) -> Site:
    return make_site(world, {path: path.encode() for path in PATHS})


def index_of(site: Site) -> ContentIndex:
    db.session.expire_all()
    index = indexes.find(site.project, "main")
    assert index is not None
    return index


def restart(site: Site) -> None:
    """Remove the stored tree from the index."""
    with transactions.write_transaction():
        index = index_of(site)
        index.snapshot_sha = index.snapshot_key = index.snapshot_changes = None


def store_small_parts(site: Site, stored: Store) -> None:
    """Store the tree in parts of four files. The parts of a tree become small if many files are deleted."""
    index = index_of(site)
    parts = [tree_parts.pack(entries) for entries in inserts.batches(tree_rows.rows(index), 4)]
    key, data = tree_parts.encode(parts, f"{tree_snapshot.PREFIX}{site.project}/")
    stored.trees.put(key, data, mimetype=tree_snapshot.MIMETYPE)
    with transactions.write_transaction():
        index = index_of(site)
        index.snapshot_sha, index.snapshot_key = index.commit_sha, key
        index.snapshot_changes = tree_parts.no_changes(str(index.commit_sha))


def parts_of(site: Site, stored: Store) -> list[tree_parts.TreePart]:
    key = str(index_of(site).snapshot_key)
    return tree_parts.decode(key, stored.trees.get(key, tree_parts.is_valid))


def set_changes(site: Site, changes: dict[str, Any] | None) -> None:
    with transactions.write_transaction():
        index_of(site).snapshot_changes = changes


def entries(site: Site, stored: Store) -> list[dict[str, Any]]:
    files = tree_snapshot.read(index_of(site), stored.trees)
    result: list[dict[str, Any]] = orjson.loads(b'{"a":{"files":[' + packed_tree.plain(b"", files))["a"]["files"]
    return result


def check(site: Site, stored: Store) -> None:
    listed = entries(site, stored)
    assert [entry["path"] for entry in listed] == sorted(entry["path"] for entry in listed)
    assert {entry["path"]: (entry["mode"], entry["sha"], entry["size"]) for entry in listed} == site.oracle()


def test_stored_tree_equals_the_branch_after_each_commit(site: Site, stored: Store, app: Flask) -> None:
    dice, present = random.Random(1), set(PATHS)
    with app.app_context():
        store_small_parts(site, stored)
        for number in range(12):
            removed = dice.sample(sorted(present), 1 if number != 6 else len(present) - 2)
            added = [
                f"{dice.choice(['', 'a', 'c', 'z/y', '~'])}/n{number}-{k}".strip("/")
                for k in range(dice.choice([1, 9]))
            ]
            present = present - set(removed) | set(added)
            site.commit(
                *({"path": path, "action": "delete"} for path in removed),
                *({"path": path, "action": "create", "content": path} for path in sorted(set(added))),
            ).ok(201)
            if number % 3 == 1:
                check(site, stored)  # before the tree is stored
            tree_snapshot.refresh(index_of(site).id, stored.trees, MAX_OBJECTS)
            assert tree_snapshot.is_fresh(index_of(site))
            check(site, stored)
            check(site, Store(stored.folder))
            key = str(index_of(site).snapshot_key)
            assert len(tree_snapshot.stored_objects(key, stored.trees)) <= MAX_OBJECTS


def test_commit_stores_only_its_part(site: Site, stored: Store, app: Flask) -> None:
    with app.app_context():
        store_small_parts(site, stored)
        before = stored.objects()
        site.commit({"path": PATHS[0], "action": "update", "content": "changed"}).ok(201)
        tree_snapshot.refresh(index_of(site).id, stored.trees)
        [(key, _)] = stored.objects().items() - before.items()
        assert [part.object == key for part in parts_of(site, stored)] == [True] + [False] * (len(PATHS) // 4 - 1)
        check(site, stored)


def test_tree_in_many_objects_is_stored_again_as_one(site: Site, stored: Store, app: Flask) -> None:
    numbers = []
    with app.app_context():
        store_small_parts(site, stored)
        for path in PATHS[::9]:
            site.commit({"path": path, "action": "update", "content": "changed"}).ok(201)
            tree_snapshot.refresh(index_of(site).id, stored.trees, max_objects=3)
            numbers.append(len(tree_snapshot.stored_objects(str(index_of(site).snapshot_key), stored.trees)))
        assert numbers == [2, 3, 1, 2]
        check(site, stored)


def test_parts_of_many_files_are_split(site: Site, stored: Store, app: Flask) -> None:
    site.repo.commit({f"c/{number}.bin": b"x" for number in range(2 * tree_parts.PART_FILES)})
    with app.app_context():
        store_small_parts(site, stored)
        source = source_of(db.session.get_one(Project, site.project), drivers.git)
        indexing.update_index(index_of(site), source, lambda _done, _total: None)
        tree_snapshot.refresh(index_of(site).id, stored.trees)
        half = tree_parts.PART_FILES + 2
        assert [part.blobs for part in parts_of(site, stored)] == [4, 4, 4, 4, 4, half, half, 4, 4, 4]
        check(site, stored)
        restart(site)
        tree_snapshot.refresh(index_of(site).id, stored.trees)
        assert [part.blobs for part in parts_of(site, stored)] == [tree_parts.PART_FILES] * 2 + [len(PATHS)]
        check(site, stored)


@pytest.mark.parametrize("changes", [None, {"from": "a", "to": "b", "paths": []}], ids=["none", "of-another-commit"])
def test_unknown_changes_store_the_whole_tree(
    site: Site, stored: Store, app: Flask, changes: dict[str, Any] | None
) -> None:
    with app.app_context():
        store_small_parts(site, stored)
        site.commit({"path": PATHS[0], "action": "update", "content": "changed"}).ok(201)
        set_changes(site, changes)
        site.commit({"path": PATHS[30], "action": "update", "content": "changed"}).ok(201)
        assert not tree_parts.can_update(index_of(site))
        tree_snapshot.refresh(index_of(site).id, stored.trees)
        assert len(tree_snapshot.stored_objects(str(index_of(site).snapshot_key), stored.trees)) == 1
        check(site, stored)


def test_different_counts_store_the_whole_tree(site: Site, stored: Store, app: Flask) -> None:
    with app.app_context():
        store_small_parts(site, stored)
        site.commit({"path": PATHS[0], "action": "delete"}).ok(201)
        set_changes(site, (index_of(site).snapshot_changes or {}) | {"paths": []})
        tree_snapshot.refresh(index_of(site).id, stored.trees)
        check(site, stored)


def test_cleanup_does_not_delete_the_objects_of_parts(site: Site, stored: Store, app: Flask) -> None:
    with app.app_context():
        restart(site)
        for n in range(3):
            tree_snapshot.refresh(index_of(site).id, stored.trees)
            site.commit({"path": PATHS[n * 10], "action": "update", "content": "changed"}).ok(201)
        tree_snapshot.refresh(index_of(site).id, stored.trees)
        used = tree_snapshot.stored_objects(str(index_of(site).snapshot_key), stored.trees)
        (stored.folder / "store" / f"trees/{site.project}/left-over").write_bytes(b"x")
        cleanup.delete_unreferenced_trees(stored.trees, timedelta(hours=-1))
        assert set(stored.objects()) == used
        check(site, Store(stored.folder))


def test_is_valid_of_damaged_object_is_false(site: Site, stored: Store, app: Flask) -> None:
    with app.app_context():
        store_small_parts(site, stored)
        data = stored.trees.get(str(index_of(site).snapshot_key), tree_parts.is_valid)
    assert not any(tree_parts.is_valid(data[:end]) for end in range(0, len(data), 7))
    for position in range(0, len(data), 11):
        assert not tree_parts.is_valid(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
