"""Tests of stored trees with a cached, damaged, missing or unreachable object: the response equals the branch."""

import dataclasses
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import event

from app.database.transactions import reading_context
from app.drivers.errors import DriverError
from app.drivers.storage.cached import CachedObjectStore
from app.drivers.storage.file_cache import FileCache
from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.models.project_content import ContentIndex
from app.resources.project_content import jobs
from app.resources.project_content.index import indexes
from app.resources.project_content.tree import tree_snapshot
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.world import World

pytestmark = pytest.mark.slow


@dataclass
class TreeStores:
    """The object store and the node cache of a test."""

    store: Path
    near: Path
    trees: CachedObjectStore

    def objects(self) -> list[Path]:
        return sorted(self.store.glob("trees/*/*"))

    def clear_cache(self) -> None:
        """Empty the cache, as on another node."""
        shutil.rmtree(self.near, ignore_errors=True)

    def damage(self, folder: Path) -> None:
        for file in folder.rglob("*"):
            if file.is_file():
                file.write_bytes(file.read_bytes()[:-20] + b"other bytes")

    def break_store(self) -> None:
        shutil.rmtree(self.store, ignore_errors=True)
        self.store.write_bytes(b"a file instead of the folder")


@pytest.fixture
def stores(app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TreeStores:
    store, near = tmp_path / "store", tmp_path / "near"
    trees = CachedObjectStore(LocalStore(store), FileCache(near, max_bytes=10_000_000), retry_after_s=0)
    monkeypatch.setitem(app.extensions, "drivers", dataclasses.replace(app.extensions["drivers"], trees=trees))
    return TreeStores(store, near, trees)


@pytest.fixture
def site(stores: TreeStores, world: World) -> Site:
    return make_site(world, FILES)


@pytest.fixture
def statements(app: Flask) -> Iterator[list[str]]:
    """The SQL statements of a test."""
    items: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        items.append(statement)

    with app.app_context():
        engines = [db.engine, app.extensions["reading_engine"]]
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield items
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


def index_of(app: Flask, site: Site) -> ContentIndex:
    with app.app_context():
        index = indexes.find(site.project, "main")
        assert index is not None
        return index


class TestStoredTree:
    def test_stored_tree_is_read_without_rows(self, site: Site, stores: TreeStores, statements: list[str]) -> None:
        assert len(stores.objects()) == 1
        for forget in (False, True):
            if forget:
                stores.clear_cache()
            statements.clear()
            assert site.blobs() == site.oracle()
            assert not [statement for statement in statements if "content_files" in statement]
            assert len(statements) == 1

    def test_equal_trees_share_one_object(self, site: Site, stores: TreeStores) -> None:
        site.repo.commit({"new.md": b"new\n"})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        site.repo.commit({"new.md": None})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert len(stores.objects()) == 2
        assert site.blobs() == site.oracle()

    def test_tree_of_a_new_commit_is_built_from_the_rows_once(self, site: Site, statements: list[str]) -> None:
        site.commit({"path": "new.md", "action": "create", "content": "new\n"}).ok(201)
        statements.clear()
        assert site.blobs() == site.oracle()
        assert [statement for statement in statements if "content_files" in statement]
        statements.clear()
        assert site.blobs() == site.oracle()
        assert not [statement for statement in statements if "content_files" in statement]


class TestDamagedTree:
    def test_damaged_cached_tree_is_read_from_the_store(self, site: Site, stores: TreeStores) -> None:
        site.tree()
        stores.damage(stores.near)
        assert site.blobs() == site.oracle()

    @pytest.mark.parametrize("lost", [False, True], ids=["damaged", "lost"])
    def test_tree_missing_in_the_store_is_built_and_stored_again(
        self, site: Site, stores: TreeStores, app: Flask, lost: bool
    ) -> None:
        stores.clear_cache()
        [kept] = stores.objects()
        if lost:
            kept.unlink()
        else:
            stores.damage(stores.store)
        assert site.blobs() == site.oracle()
        site.world.work_off()
        stores.clear_cache()
        assert tree_snapshot.is_fresh(index_of(app, site))
        assert stores.trees.get(str(index_of(app, site).snapshot_key), lambda _: True)
        assert site.blobs() == site.oracle()


class TestUnavailableStore:
    def test_tree_is_cached_or_built_from_the_rows(self, site: Site, stores: TreeStores) -> None:
        site.tree()
        stores.break_store()
        assert site.blobs() == site.oracle()
        stores.clear_cache()
        assert site.blobs() == site.oracle()

    def test_commit_is_served_and_stored_after_the_recovery(self, site: Site, stores: TreeStores, app: Flask) -> None:
        stores.break_store()
        site.commit({"path": "new.md", "action": "create", "content": "new\n"}).ok(201)
        with reading_context(app), pytest.raises(DriverError):
            jobs.store_snapshot(index_id=index_of(app, site).id, trees=stores.trees)
        assert site.blobs() == site.oracle()
        stores.store.unlink()
        with reading_context(app):
            jobs.store_snapshot(index_id=index_of(app, site).id, trees=stores.trees)
            db.session.commit()
        assert tree_snapshot.is_fresh(index_of(app, site))
        assert len(stores.objects()) == 1

    def test_store_is_not_called_during_the_pause_after_a_failure(self, tmp_path: Path) -> None:
        (tmp_path / "store").write_bytes(b"in the way")
        trees = CachedObjectStore(
            LocalStore(tmp_path / "store"), FileCache(tmp_path / "near", max_bytes=100), retry_after_s=60
        )
        with pytest.raises(DriverError):
            trees.get("trees/a", lambda _: True)
        (tmp_path / "store").unlink()
        LocalStore(tmp_path / "store").put("trees/a", BytesIO(b"x"), mimetype="text/plain")
        with pytest.raises(DriverError, match="does not respond"):
            trees.get("trees/a", lambda _: True)


class TestSweep:
    def test_cleanup_deletes_old_trees_without_an_index(self, site: Site, stores: TreeStores, app: Flask) -> None:
        [named] = stores.objects()
        orphans = [named.with_name("0" * 40), named.with_name("1" * 40)]
        for orphan in orphans:
            orphan.write_bytes(b"left over")
        for old in (named, orphans[0]):
            past = old.stat().st_mtime - jobs.TREE_RETENTION / timedelta(seconds=1) - 60
            os.utime(old, (past, past))
        with reading_context(app):
            jobs.delete_unreferenced_trees(trees=stores.trees)
            db.session.commit()
        assert stores.objects() == sorted([named, orphans[1]])

    def test_complete_enqueues_missing_trees_and_texts(self, site: Site, stores: TreeStores, app: Flask) -> None:
        with app.app_context():
            index = db.session.get_one(ContentIndex, index_of(app, site).id)
            index.snapshot_sha = index.snapshot_key = None
            db.session.commit()
            index.described_sha = None
            db.session.commit()
            jobs.complete()
            db.session.commit()
        site.world.work_off()
        assert tree_snapshot.is_fresh(index_of(app, site))
        assert index_of(app, site).described_sha == site.repo.head()


class TestUnchangedTree:
    def test_unchanged_read_runs_one_statement(self, site: Site, statements: list[str]) -> None:
        tag = {"If-None-Match": site.owner.get(site.path()).headers["ETag"]}
        statements.clear()
        answer = site.owner.get(site.path(), headers=tag)
        assert (answer.status, answer.headers["ETag"], len(statements)) == (304, f'"{site.repo.head()}"', 1)

    def test_unchanged_read_of_a_nonmember_is_rejected(self, site: Site, world: World) -> None:
        tag = {"If-None-Match": f'"{site.repo.head()}"'}
        world.person().get(site.path(), headers=tag).fails(403)
        world.person(verified=False).get(site.path(), headers=tag).fails(403, "EMAIL_NOT_VERIFIED")
        world.anonymous().get(site.path(), headers=tag).fails(401)
        site.owner.get("/project-content/prj_01h455vb4pex5vsknk084sn02q", headers=tag).fails(404)

    def test_conditional_read_after_sign_out_returns_401(self, site: Site) -> None:
        tag = {"If-None-Match": f'"{site.repo.head()}"'}
        assert site.owner.get(site.path(), headers=tag).status == 304
        site.owner.post("/auth/sign-out", {}).ok()
        site.owner.again().get(site.path(), headers=tag).fails(401)

    def test_unchanged_read_counts_as_a_request(self, site: Site, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        counted: list[str] = []
        counter = app.extensions["rates"]

        def try_acquire(_rates: object, name: str, _key: str) -> int:
            counted.append(name)
            return 0

        monkeypatch.setattr(counter, "try_acquire", try_acquire)
        assert site.owner.get(site.path(), headers={"If-None-Match": f'"{site.repo.head()}"'}).status == 304
        assert counted == ["signed_in_address", "signed_in"]

    def test_conditional_read_detects_a_push(self, site: Site) -> None:
        tag = {"If-None-Match": f'"{site.repo.head()}"'}
        site.repo.commit({"pushed.md": b"pushed\n"})
        site.owner.get(site.path(), headers=tag)
        site.world.work_off()
        assert site.owner.get(site.path(), headers=tag).ok()["status"] == "ready"
        assert site.blobs() == site.oracle()

    def test_read_with_other_parameters_uses_the_guard(self, site: Site) -> None:
        tag = {"If-None-Match": f'"{site.repo.head()}"'}
        assert site.owner.get(site.path("?path=content"), headers=tag).ok()["total"] == 2
