"""Tests of the recovery after the end of a process during indexing or a save, and of random changes of a branch."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any, cast

import pytest
import sqlalchemy as sa
from flask import Flask

from app.access.caller import caller_of
from app.database import transactions
from app.drivers.git.port import Action, FileChange, PathChange, Repository
from app.extensions import db, drivers
from app.models.project import Project
from app.models.project_content import ContentFile
from app.models.user import Actor
from app.resources.project_content.index import indexes, indexing
from app.resources.project_content.save_request import FileEdit, SaveRequest
from app.resources.project_content.saving import commits
from app.resources.project_content.source import source_of
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.resources.project_content.simulation import Simulation
from tests.support.samples.gitrepo import AWKWARD
from tests.support.world import World

pytestmark = pytest.mark.slow


class Died(BaseException):
    """A simulated kill. No code of the application catches it."""


class ManyChanges:
    """A repository that reports more changes than an index run applies one by one."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def __getattr__(self, name: str) -> Any:
        return getattr(self.repository, name)

    def changes(self, *_arguments: object) -> Iterator[PathChange]:
        return repeat(PathChange("many.md", None), indexing.MAX_LOGGED_CHANGES + 1)


def reindex(site: Site) -> None:
    site.owner.post(site.path("/reindex"), {}).ok(202)
    site.world.work_off()


class TestKillDuringIndexing:
    def test_old_tree_is_served_until_the_new_generation_is_complete(self, world: World, app: Flask) -> None:
        site = make_site(world, FILES | {f"old/{n}.md": b"old\n" for n in range(40)})
        before, old_head = site.oracle(), site.repo.head()
        site.repo.commit({f"old/{n}.md": None for n in range(40)} | {f"new/{n}.md": b"new\n" for n in range(60)})
        for batches in (1, 2, 3):
            with pytest.raises(Died):
                self._index(app, site, died_after=batches)
            assert (site.tree()["commit_sha"], site.blobs()) == (old_head, before)
        self._index(app, site)
        assert site.blobs() == site.oracle()
        with app.app_context():
            index = indexes.find(site.project, "main")
            assert index is not None
            generations = sa.select(ContentFile.generation).where(ContentFile.index_id == index.id).distinct()
            assert db.session.scalars(generations).all() == [index.generation]

    def _index(self, app: Flask, site: Site, died_after: int | None = None) -> None:
        """Index the branch as a new generation in batches of 20 files, and die after a number of batches."""
        batches: list[int] = []

        def progress(done: int, _total: int | None) -> None:
            batches.append(done)
            if len(batches) == died_after:
                raise Died

        with app.app_context():
            transactions.start_reading()
            project = db.session.get_one(Project, site.project)
            index = indexes.find(project.id, "main")
            assert index is not None
            source = source_of(project, drivers.git)
            many = replace(source, repository=cast(Repository, ManyChanges(source.repository)))
            try:
                indexing.update_index(index, many, progress, batch_size=20)
            finally:
                db.session.rollback()


class TestKillDuringSave:
    def test_commit_without_a_record_is_indexed_and_logged_once(self, site: Site, app: Flask) -> None:
        self._commit_without_record(app, site)
        reindex(site)
        reindex(site)
        assert site.blobs() == site.oracle()
        log = site.owner.get(f"/project-log/{site.project}").ok()["logs"]
        assert [(e["file"], e["action"], e["commit_sha"]) for e in log] == [("lost.md", "create", site.repo.head())]

    def _commit_without_record(self, app: Flask, site: Site) -> None:
        """Run the first half of a save, as if the process ended before the second."""
        edit = FileEdit(FileChange("lost.md", Action.CREATE, b"# Lost\n"))
        with app.app_context():
            transactions.start_reading()
            project, [caller, _] = db.session.get_one(Project, site.project), caller_of(site.owner.token)
            save = SaveRequest(site.repo.head(), [edit], "Save")
            source = source_of(project, drivers.git)
            commits.create_commit(project.id, source, save, by=Actor(caller.id))
            waiting = app.extensions["jobs"].counts(db.session.connection())
            assert waiting.waiting >= 1, "nothing would reindex for it"
            db.session.rollback()


class TestSimulation:
    @pytest.mark.parametrize("seed", [1, 2])
    def test_index_equals_the_branch_after_all_jobs(self, world: World, seed: int) -> None:
        life = Simulation(make_site(world, dict(AWKWARD)), seed)
        for step in range(24):
            life.push() if step % 4 == 3 else life.save()
            if step % 8 == 7:
                life.check()
        assert min(life.saved, life.pushed) >= 3
