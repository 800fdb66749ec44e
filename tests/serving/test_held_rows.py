"""Saves, publications and pushes while another transaction holds rows or tables of the database.

A held row of the index delays none of them. What is refused with 503 is not in Git, and a line of the log says that it
had no effect. `GALLEY_SECONDS` replaces the time for which the row is held. From 9 s on there are more requests.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.permissions import Role
from app.database.engines import disable_timeouts
from app.extensions import db
from app.models.project_content import ContentIndex
from tests.faults.small_deployment import running_worker
from tests.git_http.client import GitClient, Site
from tests.serving.writers import SETTLED_WITHIN_S, Ledger, Writers, settled, unproved
from tests.support.databases import another_database
from tests.support.parallel import together
from tests.support.servers.service import Service
from tests.support.world import Person

SECONDS = float(os.environ.get("GALLEY_SECONDS", "4"))
SAVERS, PUBLISHERS, PUSHERS = (5, 4, 4) if SECONDS >= 9 else (3, 2, 2)
SAVES, PUSH_ATTEMPTS, CROWD = 4, 50, 8
MOVED = ("fetch first", "non-fast-forward", "failed to update ref", "incorrect old value", "cannot lock ref")
"""Messages of Git after which a client pulls and pushes again: another person was faster."""

INDEX = "SELECT id FROM content_indexes WHERE project_id = :project FOR UPDATE"
SETS = "SELECT id FROM change_sets WHERE project_id = :project FOR UPDATE"
QUEUE = "LOCK TABLE procrastinate_jobs IN SHARE MODE"
WRITE_LOCK = "SELECT 1"
"""A transaction of SQLite holds the write lock from its beginning."""


class People(Writers):
    """People of a project who save, publish and push, each with their own session, token and clone."""

    def __init__(self, site: Site, folder: Path, log: Path) -> None:
        super().__init__(site, Ledger())
        self.git, self._log = GitClient(folder), log
        site.owner.patch(f"/project/{site.project}", {"required_approvals": 0}).ok()
        site.owner.get(f"/project-content/{site.project}").ok()
        until_s = time.monotonic() + SETTLED_WITHIN_S
        while not self._is_indexed():
            assert time.monotonic() < until_s, "the worker does not index the repository"
            time.sleep(0.2)

    def new(self) -> Person:
        return self.site.member(Role.EDITOR)

    def clone(self, person: Person) -> str:
        """Clone the repository with a new token, and commit a page."""
        clone = self.git.clone(self.site.url(self.site.token(person=person)), name=person.id)
        self.git.commit(clone, {f"pushed/{clone}.md": b"pushed\n"})
        return clone

    def save_pages(self, person: Person) -> None:
        for _ in range(SAVES):
            self.save(person)

    def publish_new(self, person: Person) -> None:
        made = self.new_set(person)
        if made is not None:
            self.publish(person, *made)

    def push(self, person: Person, clone: str) -> None:
        """Push until no other writer was faster."""
        for _ in range(PUSH_ATTEMPTS):
            ran = self.git.run("push", "origin", "HEAD", within=clone)
            if ran.code == 0 or not any(message in ran.messages for message in MOVED):
                break
            self.git.ok("pull", "--quiet", "--rebase", within=clone)
        self.ledger.note_push(f"pushed/{clone}.md", person.id, is_accepted=ran.code == 0)

    def files(self) -> set[str]:
        """Return the files of the working branch."""
        return set(self.site.repo.text("ls-tree", "-r", "--name-only", "main").split("\n"))

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @contextmanager
    def held(self, statement: str) -> Iterator[Callable[[], None]]:
        """Run a statement in a transaction of another connection. The block or the yielded function ends it."""
        with self.site.world.app.app_context(), db.engine.connect() as connection:
            connection.detach()
            disable_timeouts(connection)
            connection.execute(sa.text(statement), {"project": self.site.project} if ":project" in statement else {})
            yield connection.rollback

    def _is_indexed(self) -> bool:
        with self.site.world.app.app_context():
            indexed = sa.select(ContentIndex.commit_sha).where(ContentIndex.project_id == self.site.project)
            return db.session.scalar(indexed) is not None


@contextmanager
def running_people(store: str, folder: Path, **environment: str) -> Iterator[People]:
    """Run a web server and a worker on a new database."""
    (clones := folder / "clones").mkdir()
    log_file = folder / "log"
    with (
        log_file.open("wb") as log,
        another_database(store, folder, is_empty=True) as url,
        Service(folder, workers=1, log=log, DATABASE_URL=url, LOG_LEVEL="INFO", **environment) as service,
        running_worker(service, log),
    ):
        yield People(Site(service), clones, log_file)


@pytest.fixture
def people(store: str, tmp_path: Path) -> Iterator[People]:
    if store.startswith("sqlite"):
        pytest.skip("SQLite has no locks of rows")
    with running_people(store, tmp_path) as started:
        yield started


class TestHeldIndex:
    @pytest.mark.parametrize("ends_after", ["time", "responses"])
    def test_saves_publications_and_pushes_are_accepted_and_name_their_people(
        self, people: People, ends_after: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        savers, publishers, pushers = ([people.new() for _ in range(n)] for n in (SAVERS, PUBLISHERS, PUSHERS))
        calls: list[Callable[[], object]] = [partial(people.save_pages, one) for one in savers]
        calls += [partial(people.publish_new, one) for one in publishers]
        calls += [partial(people.push, one, people.clone(one)) for one in pushers]
        with people.held(INDEX) as release:
            timer = threading.Timer(SECONDS, release)
            if ends_after == "time":
                timer.start()
            together(calls)
            release() if ends_after == "responses" else timer.join()
        unnamed, text, ledger = settled(people.site, people.ledger), people.log(), people.ledger
        with capsys.disabled():
            print(f"\n{SECONDS:.0f} s: {dict(ledger.statuses)}, later: {text.count('request.not_recorded')}")

        assert ledger.statuses == Counter(
            {
                "save 201": SAVES * SAVERS,
                "commit to set 201": PUBLISHERS,
                "publish 200": PUBLISHERS,
                "push ok": PUSHERS,
            }
        )
        assert ledger.people.keys() - people.files() == set()
        assert unnamed == set()
        assert "Traceback" not in text
        assert "never retrieved" not in text


class TestRefusals:
    def test_writers_without_a_lock_or_a_connection_are_refused_before_git_and_succeed_later(
        self, store: str, tmp_path: Path
    ) -> None:
        is_sqlite = store.startswith("sqlite")
        with running_people(store, tmp_path, DATABASE_POOL="2") as people:
            person, ledger = people.new(), people.ledger
            made = people.new_set(person)
            assert made is not None
            pushers = [people.new(), people.new()]
            clones = [people.clone(one) for one in pushers]
            unused = people.site.url(people.site.token(person=pushers[1]))
            people.git.ok("remote", "set-url", "origin", unused, within=clones[1])
            refs = people.site.refs()
            with people.held(WRITE_LOCK if is_sqlite else QUEUE):
                together([partial(people.save, person)] * CROWD)
                people.publish(person, *made)
                for one in zip(pushers, clones, strict=True):
                    people.push(*one)
            refused, text = set(ledger.refused), people.log()

            assert people.site.refs() == refs
            assert ledger.statuses == Counter(
                {"commit to set 201": 1, "save 503": CROWD, "publish 503": 1, "push refused": 2}
            )
            assert unproved(ledger, text) == set()
            assert len(push_refusals(text, people.site.repository)) == 2
            assert is_sqlite or "error=TimeoutError" in text

            people.save(person)
            assert people.publish(person, *made)
            for one in zip(pushers, clones, strict=True):
                people.push(*one)
            assert ledger.statuses["push ok"] == 2
            assert settled(people.site, ledger) == set()
            assert ledger.people.keys() - people.files() == set()
            assert (refused - {made[1]}) & people.files() == set()
            assert "Traceback" not in people.log()

    def test_writers_of_a_held_set_are_refused_before_git_and_succeed_later(self, people: People) -> None:
        person, pusher, ledger = people.new(), people.new(), people.ledger
        made = people.new_set(person)
        assert made is not None
        branch = people.site.owner.get(made[0].partition("/api/v1")[2]).ok()["branch"]
        clone = people.clone(pusher)
        people.git.ok("fetch", "--quiet", "origin", branch, within=clone)
        people.git.ok("checkout", "--quiet", "-b", branch, "FETCH_HEAD", within=clone)
        people.git.commit(clone, {f"pushed/{clone}.md": b"pushed\n"})
        refs = people.site.refs()
        with people.held(SETS):
            people.publish(person, *made)
            people.push(pusher, clone)
        text = people.log()

        assert people.site.refs() == refs
        assert ledger.statuses == Counter({"commit to set 201": 1, "publish 503": 1, "push refused": 1})
        assert unproved(ledger, text) == set()
        assert len(push_refusals(text, people.site.repository)) == 1

        people.push(pusher, clone)
        assert people.publish(person, *made)
        assert {made[1], f"pushed/{clone}.md"} - people.files() == set()


def push_refusals(log: str, repository: str) -> list[str]:
    """Return the lines of the log about pushes that were refused before Git had their commits."""
    is_ours = f"repository={repository}"
    return [
        line
        for line in log.splitlines()
        if ("git.push_check_failed" in line and is_ours in line)
        or ("/git/<repository>" in line and "status=503" in line and "may_have_effect=False" in line)
    ]
