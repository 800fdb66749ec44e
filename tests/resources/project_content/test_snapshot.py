"""Stored trees: in the object store, near, damaged, lost, out of reach; what is served is the branch, always."""

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

from app.core.file_cache import FileCache
from app.drivers.errors import DriverError
from app.drivers.storage.local import LocalStore
from app.drivers.storage.near import NearStore
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.resources.project_content import indexes, jobs, snapshot
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.world import World


@dataclass
class Places:
    """Where a test's trees are: the object store's folder and the node's own."""

    store: Path
    near: Path
    trees: NearStore

    def objects(self) -> list[Path]:
        return sorted(self.store.glob("trees/*/*"))

    def forget_near(self) -> None:
        """What another node has: nothing yet."""
        shutil.rmtree(self.near, ignore_errors=True)

    def damage(self, folder: Path) -> None:
        for file in folder.rglob("*"):
            if file.is_file():
                file.write_bytes(file.read_bytes()[:-20] + b"rubbish in its place")

    def break_store(self) -> None:
        shutil.rmtree(self.store, ignore_errors=True)
        self.store.write_bytes(b"no folder any more")


@pytest.fixture
def places(app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    store, near = tmp_path / "store", tmp_path / "near"
    trees = NearStore(LocalStore(store), FileCache(near, max_bytes=10_000_000), rest_s=0)
    monkeypatch.setitem(app.extensions["drivers"], "trees", trees)
    return Places(store, near, trees)


@pytest.fixture
def site(places: Places, world: World) -> Site:
    return make_site(world, FILES)


@pytest.fixture
def sent(app: Flask) -> Iterator[list[str]]:
    """The statements sent meanwhile."""
    found: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        found.append(statement)

    with app.app_context():
        engines = [db.engine, app.extensions["reading_engine"]]
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield found
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


def index_of(app: Flask, site: Site) -> ContentIndex:
    with app.app_context():
        index = indexes.find(db.session.get_one(Project, site.project), "main")
        assert index is not None
        return index


class TestStored:
    def test_it_is_in_the_object_store_and_no_rows_are_read_for_it(
        self, site: Site, places: Places, sent: list[str]
    ) -> None:
        assert len(places.objects()) == 1
        for forget in (False, True):
            if forget:
                places.forget_near()
            sent.clear()
            assert site.blobs() == site.oracle()
            assert not [statement for statement in sent if "content_files" in statement]
            assert len(sent) == 2

    def test_equal_trees_have_one_object(self, site: Site, places: Places) -> None:
        site.repo.commit({"new.md": b"new\n"})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        site.repo.commit({"new.md": None})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert len(places.objects()) == 2
        assert site.blobs() == site.oracle()

    def test_a_tree_of_a_moment_ago_is_made_from_the_rows_once(self, site: Site, sent: list[str]) -> None:
        site.commit({"path": "new.md", "action": "create", "content": "new\n"}).ok(201)
        sent.clear()
        assert site.blobs() == site.oracle()
        assert [statement for statement in sent if "content_files" in statement]
        sent.clear()
        assert site.blobs() == site.oracle()
        assert not [statement for statement in sent if "content_files" in statement]


class TestDamaged:
    def test_near_it_is_read_from_the_store(self, site: Site, places: Places) -> None:
        site.tree()
        places.damage(places.near)
        assert site.blobs() == site.oracle()

    @pytest.mark.parametrize("lost", [False, True], ids=["damaged", "lost"])
    def test_in_the_store_it_is_made_from_the_rows_and_stored_again(
        self, site: Site, places: Places, app: Flask, lost: bool
    ) -> None:
        places.forget_near()
        [kept] = places.objects()
        if lost:
            kept.unlink()
        else:
            places.damage(places.store)
        assert site.blobs() == site.oracle()
        site.world.work_off()
        places.forget_near()
        assert snapshot.is_fresh(index_of(app, site))
        assert places.trees.get(str(index_of(app, site).snapshot_key), lambda _: True)
        assert site.blobs() == site.oracle()


class TestStoreOutOfReach:
    def test_what_is_near_is_served_and_what_is_not_is_made_from_the_rows(self, site: Site, places: Places) -> None:
        site.tree()
        places.break_store()
        assert site.blobs() == site.oracle()
        places.forget_near()
        assert site.blobs() == site.oracle()

    def test_a_commit_meanwhile_is_served_and_stored_when_it_is_back(
        self, site: Site, places: Places, app: Flask
    ) -> None:
        places.break_store()
        site.commit({"path": "new.md", "action": "create", "content": "new\n"}).ok(201)
        with app.app_context(), pytest.raises(DriverError):
            jobs.store_snapshot(index_id=index_of(app, site).id, trees=places.trees)
        assert site.blobs() == site.oracle()
        places.store.unlink()
        with app.app_context():
            jobs.store_snapshot(index_id=index_of(app, site).id, trees=places.trees)
            db.session.commit()
        assert snapshot.is_fresh(index_of(app, site))
        assert len(places.objects()) == 1

    def test_a_store_that_failed_is_left_alone_for_a_while(self, tmp_path: Path) -> None:
        (tmp_path / "store").write_bytes(b"in the way")
        trees = NearStore(LocalStore(tmp_path / "store"), FileCache(tmp_path / "near", max_bytes=100), rest_s=60)
        with pytest.raises(DriverError):
            trees.get("trees/a", lambda _: True)
        (tmp_path / "store").unlink()
        LocalStore(tmp_path / "store").put("trees/a", BytesIO(b"x"), mimetype="text/plain")
        with pytest.raises(DriverError, match="a moment ago"):
            trees.get("trees/a", lambda _: True)


class TestSweep:
    def test_what_no_index_names_goes_when_it_is_old(self, site: Site, places: Places, app: Flask) -> None:
        [named] = places.objects()
        orphans = [named.with_name("0" * 40), named.with_name("1" * 40)]
        for orphan in orphans:
            orphan.write_bytes(b"left over")
        for old in (named, orphans[0]):
            past = old.stat().st_mtime - jobs.KEPT_FOR / timedelta(seconds=1) - 60
            os.utime(old, (past, past))
        with app.app_context():
            jobs.sweep_trees(trees=places.trees)
            db.session.commit()
        assert places.objects() == sorted([named, orphans[1]])

    def test_what_was_given_up_is_asked_for_again(self, site: Site, places: Places, app: Flask) -> None:
        with app.app_context():
            index = db.session.get_one(ContentIndex, index_of(app, site).id)
            index.snapshot_sha = index.snapshot_key = None
            db.session.commit()
            index.described_sha = None
            db.session.commit()
            jobs.complete()
            db.session.commit()
        site.world.work_off()
        assert snapshot.is_fresh(index_of(app, site))
        assert index_of(app, site).described_sha == site.repo.head()


class TestUnchanged:
    def test_whoever_has_it_is_told_so_by_one_statement(self, site: Site, sent: list[str]) -> None:
        tag = {"If-None-Match": site.owner.get(site.path()).headers["ETag"]}
        sent.clear()
        answer = site.owner.get(site.path(), headers=tag)
        assert (answer.status, answer.headers["ETag"], len(sent)) == (304, f'"{site.repo.head()}"', 1)

    def test_it_is_told_to_no_one_who_may_not_read_it(self, site: Site, world: World) -> None:
        tag = {"If-None-Match": f'"{site.repo.head()}"'}
        world.person().get(site.path(), headers=tag).fails(403)
        world.person(verified=False).get(site.path(), headers=tag).fails(403, "EMAIL_NOT_VERIFIED")
        world.anonymous().get(site.path(), headers=tag).fails(401)
        site.owner.get("/project-content/prj_01h455vb4pex5vsknk084sn02q", headers=tag).fails(404)

    def test_a_session_that_ended_is_told_nothing(self, site: Site) -> None:
        tag = {"If-None-Match": f'"{site.repo.head()}"'}
        assert site.owner.get(site.path(), headers=tag).status == 304
        site.owner.post("/auth/sign-out", {}).ok()
        site.owner.again().get(site.path(), headers=tag).fails(401)

    def test_it_counts_as_a_request(self, site: Site, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
        counted: list[str] = []
        counter = app.extensions["rates"]

        def spend(_rates: object, name: str, _key: str) -> int:
            counted.append(name)
            return 0

        monkeypatch.setattr(counter, "spend", spend)
        assert site.owner.get(site.path(), headers={"If-None-Match": f'"{site.repo.head()}"'}).status == 304
        assert counted == ["signed_in_address", "signed_in"]

    def test_a_push_is_noticed_all_the_same(self, site: Site) -> None:
        tag = {"If-None-Match": f'"{site.repo.head()}"'}
        site.repo.commit({"pushed.md": b"pushed\n"})
        site.owner.get(site.path(), headers=tag)
        site.world.work_off()
        assert site.owner.get(site.path(), headers=tag).ok()["status"] == "ready"
        assert site.blobs() == site.oracle()

    def test_other_queries_go_the_usual_way(self, site: Site) -> None:
        tag = {"If-None-Match": f'"{site.repo.head()}"'}
        assert site.owner.get(site.path("?path=content"), headers=tag).ok()["total"] == 2
