"""Tests of the content jobs other than indexing: deletion of unreferenced content and packing."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.database.transactions import reading_context
from app.drivers.git.local.new_commit import write_objects
from app.drivers.git.object_ids import new_object
from app.extensions import db, drivers
from app.models.content_search import ContentLink, ContentText
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project.jobs import long_runs
from app.resources.project_content import jobs
from app.resources.project_content.index import indexing
from tests.resources.project_content.conftest import Site, make_site
from tests.support.applications import application, settings_for
from tests.support.databases import another_database
from tests.support.world import World


@pytest.fixture(scope="module")
def app(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Return an application of this module. These jobs process every project, also those of other modules."""
    home = tmp_path_factory.mktemp("content-jobs")
    with another_database(store, home) as url, application(settings_for(home, url)) as flask_app:
        yield flask_app


def shas(site: Site, table: Any) -> set[str]:
    with site.world.app.app_context():
        return set(db.session.scalars(sa.select(table.sha).where(table.project_id == site.project)))


def run(app: Flask, job: Any, **given: Any) -> None:
    with reading_context(app):
        job(**given)


class TestIndexAfterSave:
    def test_delayed_index_job_does_not_block_a_due_job(self, site: Site) -> None:
        site.commit({"path": "content/mine.md", "action": "create", "content": "mine"}).ok(201)
        site.world.work_off()
        head = site.repo.commit({"content/theirs.md": b"theirs"})
        with site.world.app.app_context():
            statement = sa.select(ContentIndex).where(ContentIndex.project_id == site.project)
            indexing.enqueue(db.session.scalars(statement).one())
            db.session.commit()
        site.world.work_off(within_s=8)
        assert site.tree()["commit_sha"] == head


class TestDescribe:
    def test_texts_wait_while_an_organization_has_its_share_of_a_worker(self, site: Site, app: Flask) -> None:
        site.commit({"path": "content/shared.md", "action": "create", "content": "shared"}).ok(201)
        with app.app_context():
            git, organization = drivers.git, db.session.get_one(Project, site.project).organization_id

        def described() -> list[str | None]:
            with reading_context(app):
                index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
                jobs.describe_branch(index_id=index.id, git=git, progress=lambda _done, _total: None)
                db.session.refresh(index)
                return [index.described_sha, index.commit_sha]

        with long_runs.slot("org_other"), long_runs.slot(organization):
            with long_runs.slot(organization):
                before, present = described()
                assert before != present
            assert described() == [present, present]


class TestFollowLocal:
    def test_index_of_a_deleted_branch_is_stale_until_the_branch_returns(self, site: Site, app: Flask) -> None:
        with app.app_context():
            git = drivers.git

        def followed() -> Any:
            run(app, jobs.follow_local, git=git)
            site.world.work_off()
            tree = site.tree()
            return tree["status"], tree["total"]

        head = site.repo.head()
        site.repo.git("update-ref", "-d", "refs/heads/main")
        assert [followed(), followed()] == [("stale", 4), ("stale", 4)]
        site.repo.git("update-ref", "refs/heads/main", head)
        assert followed() == ("ready", 4)


class TestSweep:
    def test_cleanup_after_a_project_deletion_deletes_its_files(self, site: Site) -> None:
        def files() -> int:
            mine = sa.select(sa.func.count()).select_from(ContentFile).where(ContentFile.index_id == index_id)
            with site.world.app.app_context():
                return db.session.scalar(mine) or 0

        with site.world.app.app_context():
            index_id = db.session.scalar(sa.select(ContentIndex.id).where(ContentIndex.project_id == site.project))
        assert files() == 4
        site.owner.delete(f"/project/{site.project}").ok()
        site.world.work_off()
        assert files() == 0

    def test_deletion_of_a_project_examines_only_its_content(self, site: Site, world: World) -> None:
        about = site.oracle()["content/about.md"][1]
        site.repo.commit({"content/about.md": None})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        other = make_site(world, {"a.md": b"a"})
        other.owner.delete(f"/project/{other.project}").ok()
        world.work_off()
        assert about in shas(site, ContentText)
        assert not shas(other, ContentText)

    def test_new_project_enqueues_no_deletion(self, world: World) -> None:
        make_site(world, {"a.md": b"a"}, indexed=False)
        with world.app.app_context():
            # The index and the default branch of the repository.
            assert world.app.extensions["jobs"].counts(db.session.connection()).waiting == 2

    def test_cleanup_deletes_blobs_without_a_branch(self, site: Site, app: Flask) -> None:
        before = site.oracle()
        site.repo.commit({"content/about.md": None, "content/copy.md": b"[x](/about)\n"})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert before["content/about.md"][1] in shas(site, ContentText)
        run(app, jobs.delete_unreferenced_content)
        kept = shas(site, ContentText)
        assert before["content/about.md"][1] not in kept
        assert {before["content/posts/hello.md"][1], site.oracle()["content/copy.md"][1]} <= kept
        assert shas(site, ContentLink) <= kept

    def test_cleanup_during_the_insertion_of_a_generation_enqueues_its_texts(self, site: Site, app: Flask) -> None:
        site.repo.commit({"content/about.md": None})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        with app.app_context():
            index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
            file = {"path": "content/about.md", "type": "blob", "mode": "100644", "sha": "0" * 40}
            db.session.add(ContentFile(index_id=index.id, generation=index.generation + 1, **file))
            db.session.commit()
        run(app, jobs.delete_unreferenced_content)
        with app.app_context():
            index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()
            assert index.described_sha is None

    def test_blob_that_is_committed_again_is_indexed_again(self, site: Site, app: Flask) -> None:
        site.repo.commit({"content/about.md": None})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        run(app, jobs.delete_unreferenced_content)
        site.repo.commit({"content/again.md": b"# About\n\nUs.\n"})
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        [hit] = site.owner.get(site.path("/search?q=us")).ok()
        assert hit["path"] == "content/again.md"


class TestPacking:
    def test_repository_with_many_loose_objects_is_packed_by_a_job(self, site: Site, app: Flask) -> None:
        for start in range(0, 2_016, 16):
            write_objects(site.repo.folder, [new_object("blob", b"%d" % n) for n in range(start, start + 16)])
        before = site.oracle()
        for _ in range(2):
            run(app, jobs.find_unpacked_repositories, git=app.extensions["drivers"].git)
        with app.app_context():
            calls = list(app.extensions["jobs"].unfinished(db.session.connection()))
        assert [call.args for call in calls if call.name == "content.pack"] == [{"repository": site.name}]
        site.world.work_off()
        assert site.oracle() == before
        assert not list((site.repo.folder / "objects").glob("??/*"))
        site.repo.check()

    def test_job_of_a_deleted_repository_ends(self, site: Site, app: Flask) -> None:
        run(app, jobs.pack_repository, repository="no/such", git=app.extensions["drivers"].git)
        run(app, jobs.find_unpacked_repositories, git=app.extensions["drivers"].git)
