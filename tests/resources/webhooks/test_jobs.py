"""Tests of the job that polls Git hosts."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import db, drivers
from app.models.base import utcnow_ms
from app.models.project_content import ContentIndex
from app.resources.webhooks import jobs
from tests.support.doubles.server import Fault, Reply
from tests.support.git_hosts import Hosts, connect_gitlab, login_of, new_project
from tests.support.world import World


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    return hosted[0]


def follow(world: World) -> None:
    with world.app.app_context():
        jobs.follow_remote(git=drivers.git)
        db.session.remove()
    world.work_off()


@pytest.fixture
def quiet(world: World) -> None:
    """Mark all indexes as recently polled."""
    with world.app.app_context():
        db.session.execute(sa.update(ContentIndex).values(looked_at=utcnow_ms()))
        db.session.commit()


class Followed:
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
    def test_push_nobody_told_of_is_noticed(self, world: World, hosts: Hosts, quiet: None) -> None:
        site = Followed(world, hosts)
        head = site.repository.git.commit({"x": b"y"})
        follow(world)
        assert site.sha == head

    def test_branch_that_goes_is_told_stale_and_ready_again_once_it_is_back(
        self, world: World, hosts: Hosts, quiet: None
    ) -> None:
        site = Followed(world, hosts)
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

    def test_branch_looked_at_lately_rests(self, world: World, hosts: Hosts, quiet: None) -> None:
        site = Followed(world, hosts)
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

    def test_run_is_bounded_and_takes_who_waited_longest(
        self, world: World, hosts: Hosts, quiet: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(jobs, "MAX_BRANCHES", 1)
        first, second = Followed(world, hosts), Followed(world, hosts)
        heads = [site.repository.git.commit({"x": b"y"}) for site in (first, second)]
        follow(world)
        assert [site.sha for site in (first, second)] != heads
        follow(world)
        assert [site.sha for site in (first, second)] == heads

    def test_host_that_fails_stops_nobody_else(self, world: World, hosts: Hosts, quiet: None) -> None:
        first, second = Followed(world, hosts), Followed(world, hosts)
        heads = [site.repository.git.commit({"x": b"y"}) for site in (first, second)]
        where = f"GET /api/v4/projects/{first.repository.number}/"
        hosts.gitlab.faults.append(Fault(where, times=99, reply=Reply(404, {"message": "404"})))
        follow(world)
        assert second.sha == heads[1]
