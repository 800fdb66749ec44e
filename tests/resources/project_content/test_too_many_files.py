"""Branches with more files than an index can have: they are not indexed, and a sentence says so."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from app.database.transactions import reading_context
from app.extensions import db, drivers
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import jobs
from app.resources.project_content.index.indexing import TOO_MANY_FILES
from tests.git_http.packs import Pack
from tests.resources.project_content.conftest import Site

NAMES = [f"{number:03}" for number in range(1_000)]


def repeat(site: Site) -> str:
    """Move the branch to a commit with a million files in two folders. Return its previous head."""
    before, pack = site.repo.head(), Pack()
    folder = pack.folder(NAMES, pack.folder(NAMES, pack.blob(b"a"), mode="100644"))
    commit = pack.commit(folder, before)
    site.repo.git("unpack-objects", "-q", data=pack.data())
    site.repo.git("update-ref", "refs/heads/main", commit)
    return before


def index_of(site: Site) -> Any:
    with site.world.app.app_context():
        return db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == site.project)).one()


def generations(site: Site) -> int:
    statement = sa.select(sa.func.count(ContentFile.generation.distinct()))
    with site.world.app.app_context():
        return db.session.scalar(statement.where(ContentFile.index_id == index_of(site).id)) or 0


def run(site: Site, job: Callable[..., None], **arguments: Any) -> None:
    with reading_context(site.world.app):
        job(git=drivers.git, **arguments)


@pytest.mark.one_database
class TestLocalBranch:
    def test_branch_is_not_indexed_and_the_console_says_so(self, site: Site) -> None:
        before = repeat(site)
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        index = index_of(site)
        assert (index.status, index.problem, index.commit_sha) == ("failed", TOO_MANY_FILES, before)
        assert (site.tree()["status"], site.tree()["total"], generations(site)) == ("failed", 4, 1)
        with site.world.app.app_context():
            page = site.owner.client.get(f"/console/projects/{site.project}")
        assert "The content could not be read: The branch has more than 400,000 files." in page.text

    @pytest.mark.slow
    def test_reason_is_named_if_git_has_too_little_memory_for_a_comparison(
        self, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repeat(site)
        (shim := tmp_path / "git").write_text(f'#!/bin/sh\nulimit -v 98304\nexec {shutil.which("git")} "$@"\n')
        shim.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert (index_of(site).status, index_of(site).problem) == ("failed", TOO_MANY_FILES)

    def test_branch_is_read_again_after_a_push_only(self, site: Site) -> None:
        before = repeat(site)
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        failed_at = index_of(site).updated_at
        run(site, jobs.follow_local)
        site.world.work_off()
        assert index_of(site).updated_at == failed_at
        site.repo.git("update-ref", "refs/heads/main", before)
        site.owner.post(site.path("/reindex"), {}).ok(202)
        site.world.work_off()
        assert (site.tree()["status"], index_of(site).problem) == ("ready", None)


class TestOtherBranches:
    def test_rows_of_an_incomplete_generation_are_deleted(self, site: Site) -> None:
        head = site.repo.commit({f"new/{number}.md": b"a" for number in range(4)})
        with site.world.app.app_context():
            db.session.execute(sa.update(ContentIndex).values(commit_sha="0" * 40, generation=0))
            db.session.commit()
        run(site, jobs.index_branch, index_id=index_of(site).id, progress=lambda *_: None, max_files=5)
        assert index_of(site).status == "failed"
        assert (site.repo.head(), generations(site)) == (head, 0)
