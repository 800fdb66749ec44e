"""Branches that change while what tells of it is unreliable: notifications get lost, come twice, come late and disordered."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app.core.jobs import registry
from app.extensions import db, drivers
from app.models.base import moment
from app.models.project_content import ContentIndex
from app.resources.project_content import jobs as local_jobs
from app.resources.webhooks import jobs as remote_jobs
from tests.resources.project_content.simulation import NAMES
from tests.samples.gitrepo import Content, GitRepo
from tests.world import Person, World

LOST, TWICE, NOW = 0.2, 0.2, 0.5


class Life:
    """A branch of one project: pushed to at its host, saved to through the API; `tell` sends one notification."""

    def __init__(
        self, world: World, me: Person, project: str, repo: GitRepo, seed: int, tell: Callable[[], Callable[[], Any]]
    ) -> None:
        self.world, self.me, self.project, self.repo = world, me, project, repo
        self.dice, self._tell, self._held = random.Random(seed), tell, list[Callable[[], Any]]()
        self.pushed = self.saved = self.lost = self.twice = 0

    def push(self) -> None:
        """One commit at the host, now and then on a branch that went back; what is told of it may get lost or doubled."""
        if self.dice.random() < 0.1 and len(self.repo.commits()) > 4:
            self.repo.git("update-ref", "refs/heads/main", self.repo.commits()[2])
        there = list(self.repo.entries())
        files: dict[str, Content] = {self._path(): self._bytes() for _ in range(self.dice.randint(1, 6))}
        if len(there) > 10:
            files |= dict.fromkeys(self.dice.sample(there, 2))
        self.repo.commit({path: content for path, content in files.items() if content is not None or path in there})
        self.pushed += 1
        notification = self._tell()
        fate = self.dice.random()
        self.lost, self.twice = self.lost + (fate < LOST), self.twice + (LOST <= fate < LOST + TWICE)
        self._held += [notification] * (0 if fate < LOST else 2 if fate < LOST + TWICE else 1)
        if self.dice.random() < NOW:
            self._deliver(self.dice.randint(1, 3))

    def save(self) -> None:
        """One file saved through the API."""
        file = {"path": self._path(), "action": "create", "content": str(self.dice.random())}
        body = {"message": "Save", "base_sha": self.repo.head(), "files": [file]}
        answer = self.me.again().post(f"/project-content/{self.project}/commit", body)
        assert answer.status in (201, 409), answer.json
        self.saved += answer.status == 201

    def work(self) -> None:
        """What the worker gets to do in between."""
        self.world.work_off(within_s=240)

    def check(self) -> None:
        """At a quiet point: what is not lost has come, both polls have looked, and `flask index verify` finds nothing."""
        self._deliver(len(self._held))
        self._poll()
        self.world.work_off(within_s=240)
        told = self.world.app.test_cli_runner().invoke(args=["index", "verify", self.project])
        assert told.exit_code == 0, told.output
        assert self.repo.head() in told.output
        tree = self.me.get(f"/project-content/{self.project}").ok()
        assert {f["path"]: f["sha"] for f in tree["files"]} == {p: e[2] for p, e in self.repo.entries().items()}

    def _deliver(self, count: int) -> None:
        self.dice.shuffle(self._held)
        for _ in range(min(count, len(self._held))):
            self._held.pop()()

    def _poll(self) -> None:
        with self.world.app.app_context():
            rested = moment() - remote_jobs.REST - timedelta(seconds=1)
            mine = sa.update(ContentIndex).where(ContentIndex.project_id == self.project)
            db.session.execute(mine.values(looked_at=rested))
            db.session.commit()
            for poll in (local_jobs.follow_local, remote_jobs.follow_remote):
                poll(git=drivers["git"])
                db.session.commit()
            db.session.remove()

    def _path(self) -> str:
        return f"content/{self.dice.choice(NAMES)}/{self.dice.choice(NAMES)}-{self.dice.randint(0, 40)}.md"

    def _bytes(self) -> bytes:
        return self.dice.randbytes(self.dice.choice([0, 10, 2_000]))


def live(life: Life, steps: int, *, check_every: int) -> None:
    """So many steps of a branch's life, held against Git at quiet points."""
    assert {"content.index", "webhooks.follow_remote"} <= registry.keys()
    for step in range(1, steps + 1):
        life.dice.choices([life.push, life.save, life.work], weights=[6, 2, 2])[0]()
        if step % check_every == 0:
            life.check()
    life.check()
