"""Simulation of branches that change while notifications are lost, repeated, late and out of order."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app.core.jobs import registry
from app.extensions import db, drivers
from app.models.base import utcnow_ms
from app.models.project_content import ContentIndex
from app.resources.project_content import jobs as local_jobs
from app.resources.webhooks import jobs as remote_jobs
from tests.resources.project_content.simulation import NAMES
from tests.support.samples.gitrepo import Content, GitRepo
from tests.support.world import Person, World

LOST, TWICE, NOW = 0.2, 0.2, 0.5


class BranchSimulation:
    """A branch of one project with pushes at its host and saves through the API. `notify` sends one notification."""

    def __init__(
        self, world: World, me: Person, project: str, repo: GitRepo, seed: int, notify: Callable[[], Callable[[], Any]]
    ) -> None:
        self.world, self.me, self.project, self.repo = world, me, project, repo
        self.dice, self._notify, self._held = random.Random(seed), notify, list[Callable[[], Any]]()
        self.pushed = self.saved = self.lost = self.twice = 0

    def push(self) -> None:
        """Commit at the host, sometimes after a reset of the branch. The notification may be lost or repeated."""
        if self.dice.random() < 0.1 and len(self.repo.commits()) > 4:
            self.repo.git("update-ref", "refs/heads/main", self.repo.commits()[2])
        present = list(self.repo.entries())
        files: dict[str, Content] = {self._path(): self._bytes() for _ in range(self.dice.randint(1, 6))}
        if len(present) > 10:
            files |= dict.fromkeys(self.dice.sample(present, 2))
        self.repo.commit({path: content for path, content in files.items() if content is not None or path in present})
        self.pushed += 1
        notification = self._notify()
        fate = self.dice.random()
        self.lost, self.twice = self.lost + (fate < LOST), self.twice + (LOST <= fate < LOST + TWICE)
        self._held += [notification] * (0 if fate < LOST else 2 if fate < LOST + TWICE else 1)
        if self.dice.random() < NOW:
            self._deliver(self.dice.randint(1, 3))

    def save(self) -> None:
        """Save one file through the API."""
        file = {"path": self._path(), "action": "create", "content": str(self.dice.random())}
        body = {"message": "Save", "base_sha": self.repo.head(), "files": [file]}
        answer = self.me.again().post(f"/project-content/{self.project}/commit", body)
        assert answer.status in (201, 409), answer.json
        self.saved += answer.status == 201

    def work(self) -> None:
        """Run the waiting jobs."""
        self.world.work_off(within_s=240)

    def check(self) -> None:
        """Deliver the remaining notifications, run both polls, and compare index and repository."""
        self._deliver(len(self._held))
        self._poll()
        self.world.work_off(within_s=240)
        result = self.world.app.test_cli_runner().invoke(args=["index", "verify", self.project])
        assert result.exit_code == 0, result.output
        assert self.repo.head() in result.output
        tree = self.me.get(f"/project-content/{self.project}").ok()
        assert {f["path"]: f["sha"] for f in tree["files"]} == {p: e[2] for p, e in self.repo.entries().items()}

    def _deliver(self, count: int) -> None:
        self.dice.shuffle(self._held)
        for _ in range(min(count, len(self._held))):
            self._held.pop()()

    def _poll(self) -> None:
        with self.world.app.app_context():
            rested = utcnow_ms() - remote_jobs.POLL_INTERVAL - timedelta(seconds=1)
            mine = sa.update(ContentIndex).where(ContentIndex.project_id == self.project)
            db.session.execute(mine.values(looked_at=rested))
            db.session.commit()
            for poll in (local_jobs.follow_local, remote_jobs.follow_remote):
                poll(git=drivers.git)
                db.session.commit()
            db.session.remove()

    def _path(self) -> str:
        return f"content/{self.dice.choice(NAMES)}/{self.dice.choice(NAMES)}-{self.dice.randint(0, 40)}.md"

    def _bytes(self) -> bytes:
        return self.dice.randbytes(self.dice.choice([0, 10, 2_000]))


def run_steps(life: BranchSimulation, steps: int, *, check_every: int) -> None:
    """Run a number of random steps and compare the index with Git after every few of them."""
    assert {"content.index", "webhooks.follow_remote"} <= registry.keys()
    for step in range(1, steps + 1):
        life.dice.choices([life.push, life.save, life.work], weights=[6, 2, 2])[0]()
        if step % check_every == 0:
            life.check()
    life.check()
