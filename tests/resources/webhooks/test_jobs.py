"""Tests of the job that polls Git hosts."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from flask import Flask

from app.database.transactions import reading_context
from app.extensions import db, drivers
from app.models.base import utcnow_ms
from app.models.project_content import ContentIndex
from app.resources.webhooks import jobs
from tests.support.doubles.server import Fault, Reply
from tests.support.git_hosts import Hosts, connect_gitlab, login_of, new_project
from tests.support.world import World

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    return hosted[0]


def follow(world: World, max_branches: int = jobs.MAX_BRANCHES) -> None:
    with reading_context(world.app):
        jobs.follow_remote(git=drivers.git, max_branches=max_branches)
        db.session.remove()
    world.work_off()


@pytest.fixture
def no_other_branch_due(world: World) -> None:
    """Mark all indexes as recently polled."""
    with world.app.app_context():
        db.session.execute(sa.update(ContentIndex).values(looked_at=utcnow_ms()))
        db.session.commit()


class PolledSite:
    def __init__(self, world: World, hosts: Hosts) -> None:
        self.me = world.person()
        self.repository = hosts.on_gitlab(login_of(self.me))
        connect_gitlab(self.me, hosts)
        self.project = new_project(self.me, self.me.new_organization(), "gitlab", self.repository.name)
        world.work_off()

    @property
    def sha(self) -> str:
        return str(self.me.get(f"/project/{self.project}").ok()["index"]["commit_sha"])


class TestFollowRemote:
    def test_push_without_a_notification_is_indexed(
        self, world: World, hosts: Hosts, no_other_branch_due: None
    ) -> None:
        site = PolledSite(world, hosts)
        head = site.repository.git.commit({"x": b"y"})
        follow(world)
        assert site.sha == head

    def test_deleted_branch_is_stale_until_recreated(
        self, world: World, hosts: Hosts, no_other_branch_due: None
    ) -> None:
        site = PolledSite(world, hosts)
        head, told = site.repository.git.head(), []
        for command in (["-d", "refs/heads/main"], ["refs/heads/main", head]):
            site.repository.git.git("update-ref", *command)
            with world.app.app_context():
                mine = sa.update(ContentIndex).where(ContentIndex.project_id == site.project)
                db.session.execute(mine.values(looked_at=None))
                db.session.commit()
            follow(world)
            told.append(site.me.get(f"/project/{site.project}").ok()["index"]["status"])
        assert told == ["stale", "ready"]

    def test_recently_polled_branch_is_not_polled(self, world: World, hosts: Hosts, no_other_branch_due: None) -> None:
        site = PolledSite(world, hosts)
        follow(world)
        site.repository.git.commit({"x": b"y"})
        hosts.gitlab.journal.clear()
        follow(world)
        assert hosts.gitlab.journal == []
        with world.app.app_context():
            db.session.execute(
                sa.update(ContentIndex)
                .where(ContentIndex.project_id == site.project)
                .values(looked_at=utcnow_ms() - jobs.POLL_INTERVAL - timedelta(seconds=1))
            )
            db.session.commit()
        follow(world)
        assert site.sha == site.repository.git.head()

    def test_run_is_bounded_and_polls_the_oldest_first(
        self, world: World, hosts: Hosts, no_other_branch_due: None
    ) -> None:
        first, second = PolledSite(world, hosts), PolledSite(world, hosts)
        heads = [site.repository.git.commit({"x": b"y"}) for site in (first, second)]
        follow(world, max_branches=1)
        assert [site.sha for site in (first, second)] != heads
        follow(world, max_branches=1)
        assert [site.sha for site in (first, second)] == heads

    def test_failing_repository_does_not_stop_the_others(
        self, world: World, hosts: Hosts, no_other_branch_due: None
    ) -> None:
        first, second = PolledSite(world, hosts), PolledSite(world, hosts)
        heads = [site.repository.git.commit({"x": b"y"}) for site in (first, second)]
        where = f"GET /api/v4/projects/{first.repository.number}/"
        hosts.gitlab.faults.append(Fault(where, times=99, reply=Reply(404, {"message": "404"})))
        follow(world)
        assert second.sha == heads[1]
