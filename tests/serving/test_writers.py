"""Eight writers, three publishers and a pusher on one project, while its index runs over thousands of files.

Every response must say what Git says, and the project log must name the person. `GALLEY_SECONDS` replaces the time of
the load. A load of a minute or more has 20,000 files, which the pusher changes in one commit again and again.
"""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.core.permissions import Role
from tests.faults.small_deployment import running_worker
from tests.git_http.client import GitClient, Site
from tests.serving.writers import REQUEST_S, Ledger, Writers, settled, unproved
from tests.support.databases import postgresql_database
from tests.support.servers.service import Service
from tests.support.world import Person

SECONDS = float(os.environ.get("GALLEY_SECONDS", "15"))
FILES, PUSHED_FILES = (20_000, 300) if SECONDS >= 60 else (3_000, 100)
WRITERS, PUBLISHERS = 8, 3
LARGE_PUSH_S, LARGE_SHARE = 60.0, 0.9
"""The log contains the files of pushes of at most 20,000."""
PUSH_ATTEMPTS = 3
"""Attempts to push before the writers pause. Somebody who pulls and pushes is slower than they are."""


class Crowd(Writers):
    """The clients of a project, which continue until they are stopped."""

    def __init__(self, site: Site, git: GitClient, ledger: Ledger) -> None:
        super().__init__(site, ledger)
        self.git, self.clone, self.may_write = git, git.clone(site.url(site.token())), threading.Event()
        self.may_write.set()

    def save_pages(self, person: Person, stop: threading.Event) -> None:
        """Create pages one after another."""
        while not stop.is_set() and self.may_write.wait(REQUEST_S):
            self.save(person)
            stop.wait(random.uniform(0.1, 0.6))

    def publish_sets(self, person: Person, stop: threading.Event) -> None:
        """Publish sets with one new page each."""
        while not stop.is_set() and self.may_write.wait(REQUEST_S):
            made = self.new_set(person)
            if made is not None:
                self.publish(person, *made)
                stop.wait(random.uniform(0.2, 1.0))

    def push(self, stop: threading.Event) -> None:
        """Push some changed files again and again, and all of them once a minute."""
        clone, owner, number, large_at = self.clone, self.site.owner.id, 0, time.monotonic()
        while not stop.is_set():
            number += 1
            is_large = time.monotonic() >= large_at
            large_at += LARGE_PUSH_S if is_large else 0
            path = f"pushed/{number}.md"
            changed = {
                f"d{n % 100}/p{n}.md": f"{number} {n}\n".encode()
                for n in range(int(FILES * LARGE_SHARE) if is_large else PUSHED_FILES)
            }
            self.git.run("pull", "--quiet", "--no-edit", "--rebase", within=clone)
            self.git.commit(clone, changed | {path: b"pushed\n"}, f"Push {number}")
            self.ledger.note_push(path, owner, is_accepted=self._push(clone))
            stop.wait(2)

    def _push(self, clone: str) -> bool:
        """Push until the service accepts it."""
        for attempt in range(3 * PUSH_ATTEMPTS):
            if attempt == PUSH_ATTEMPTS:
                self.may_write.clear()
            ran = self.git.run("push", "--quiet", "origin", "main", within=clone)
            if ran.code == 0 or attempt == 3 * PUSH_ATTEMPTS - 1:
                self.may_write.set()
                return ran.code == 0
            self.git.run("pull", "--quiet", "--rebase", within=clone)
        return False


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def site(tmp_path: Path, log_file: Path) -> Iterator[Site]:
    with (
        log_file.open("wb") as log,
        postgresql_database() as url,
        Service(tmp_path, workers=1, log=log, DATABASE_URL=url, LOG_LEVEL="INFO") as service,
        running_worker(service, log),
    ):
        yield Site(service, {f"d{n % 100}/p{n}.md": f"Page {n}\n".encode() for n in range(FILES)})


def test_no_response_contradicts_git_and_every_person_is_in_the_log(
    site: Site, tmp_path: Path, log_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, stop = Ledger(), threading.Event()
    (tmp_path / "clones").mkdir()
    crowd = Crowd(site, GitClient(tmp_path / "clones"), ledger)
    site.owner.patch(f"/project/{site.project}", {"required_approvals": 0}).ok()
    members = [site.member(Role.EDITOR) for _ in range(WRITERS + PUBLISHERS)]
    works: list[Callable[[], None]] = [lambda: crowd.push(stop)]
    works += [lambda one=one: crowd.save_pages(one, stop) for one in members[:WRITERS]]  # type: ignore[misc]
    works += [lambda one=one: crowd.publish_sets(one, stop) for one in members[WRITERS:]]  # type: ignore[misc]
    threads = [threading.Thread(target=_watched(work, ledger)) for work in works]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)
    stop.set()
    for thread in threads:
        thread.join(10 * REQUEST_S)
    unnamed = settled(site, ledger)
    text = log_file.read_text(errors="replace")
    with capsys.disabled():
        late = text.count("request.not_recorded")
        print(f"\n{SECONDS:.0f} s: {dict(sorted(ledger.statuses.items()))}, recorded later: {late}")

    in_git = set(site.repo.text("ls-tree", "-r", "--name-only", "main").split("\n"))
    assert ledger.wrong == []
    assert ledger.people.keys() - in_git == set()
    assert ledger.refused & in_git == set()
    assert unnamed == set()
    assert unproved(ledger, text) == set()
    assert [
        line for line in text.splitlines() if "request.not_recorded" in line and "is_recorded_later=False" in line
    ] == []
    assert "never retrieved" not in text
    assert "Traceback" not in text


def _watched(work: Callable[[], None], ledger: Ledger) -> Callable[[], None]:
    """Return a client whose failure fails the test."""

    def run() -> None:
        try:
            work()
        except Exception as error:
            ledger.wrong.append(f"{type(error).__name__}: {error}"[:500])

    return run
