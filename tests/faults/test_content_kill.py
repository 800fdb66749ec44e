"""Workers killed while they index 50,000 files, and web workers killed while they save: what is promised after each.

Takes about five minutes; run by `make faults`. With `GALLEY_LONG=1` a worker is killed at twenty points instead of two.
"""

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy as sa

from app import transactions
from app.extensions import db, drivers
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import indexes, jobs
from app.resources.project_content.source import source_of
from app.resources.project_content.verify import differences
from tests import factories
from tests.conftest import postgresql_database
from tests.samples.gitrepo import GitRepo
from tests.servers.service import ROOT, Service
from tests.world import Person

FILES, WEB_KILLS, CLIENTS = 50_000, 20, 4
INTO_INDEXING_S = (0.0, 0.3)
PAUSE_S = (0.5, 2.0)
PROMISED_S = 90
TEXTS_S = 900
# Two deaths of one job are chance; a third one marks it as what kills workers.
WORKER_KILLS = 2
KILLS = 20 if os.environ.get("GALLEY_LONG") else 2


@pytest.fixture(params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    if request.param == "sqlite":
        with Service(tmp_path) as made:
            yield made
        return
    with postgresql_database() as url, Service(tmp_path, DATABASE_URL=url) as made:
        yield made


class Worker:
    """`flask worker` on the service's instance, in a process of its own."""

    def __init__(self, service: Service) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "FLASK_APP": "wsgi"}
        self.process = subprocess.Popen(
            [Path(sys.executable).parent / "flask", "worker"], cwd=ROOT, env=environment | service.environment
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@contextmanager
def working(service: Service) -> Iterator[Worker]:
    worker = Worker(service)
    try:
        yield worker
    finally:
        worker.kill()


@dataclass
class Site:
    """A project of somebody, asked over the wire."""

    service: Service
    owner: Person
    project: str
    repo: GitRepo

    def tree(self) -> Any:
        answer = self.service.client(self.owner).get(self.url(), timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def url(self, rest: str = "") -> str:
        return f"{self.service.url}/api/v1/project-content/{self.project}{rest}"

    def wait_for(self, commit: str, within_s: float = PROMISED_S) -> float:
        started = time.monotonic()
        while self.tree()["commit_sha"] != commit:
            assert time.monotonic() - started < within_s, "the index did not get there in time"
            time.sleep(0.3)
        return time.monotonic() - started

    def newest_generation(self) -> int:
        """The newest generation that files have been written of, served or not."""
        newest = sa.select(sa.func.max(ContentFile.generation)).join(
            ContentIndex, ContentIndex.id == ContentFile.index_id
        )
        with self.service.app.extensions["reading_engine"].connect() as connection:
            found: int | None = connection.scalar(newest.where(ContentIndex.project_id == self.project))
        return found or 0

    def wait_for_generation_after(self, generation: int) -> None:
        """Until some of the next generation's files are written."""
        deadline = time.monotonic() + PROMISED_S
        while self.newest_generation() <= generation:
            assert time.monotonic() < deadline, "indexing was not taken up in time"
            time.sleep(0.005)

    def wait_for_texts(self, commit: str) -> None:
        """Until the commit's files are found by their words."""
        deadline = time.monotonic() + TEXTS_S
        described = sa.select(ContentIndex.described_sha).where(ContentIndex.project_id == self.project)
        while True:
            with self.service.app.extensions["reading_engine"].connect() as connection:
                if connection.scalar(described) == commit:
                    return
            assert time.monotonic() < deadline, "the texts were not read in time"
            time.sleep(1)

    def check(self) -> None:
        with self.service.app.app_context():
            transactions.start_reading()
            project = db.session.get_one(Project, self.project)
            index = indexes.find(project, "main")
            assert index is not None
            assert list(differences(index, source_of(project, drivers["git"]))) == []
            db.session.rollback()


def make(service: Service, files: dict[str, Any]) -> Site:
    world = service.world
    owner = world.person()
    name, repo = factories.repository(world, files)
    return Site(service, owner, factories.project(world, owner, factories.organization(world, owner), name), repo)


class TestWorkerKilledWhileIndexing:
    def test_the_old_tree_is_served_and_the_new_one_comes_in_time(self, service: Service) -> None:
        site = make(service, _generation(0))
        with working(service):
            site.wait_for(site.repo.head())
        kills, number, waited = 0, 0, list[float]()
        while kills < KILLS:
            number += 1
            before = site.repo.head()
            site.repo.commit(dict.fromkeys(_generation(number - 1)) | _generation(number))
            kills += _kill_while_indexing(site, {before: number - 1, site.repo.head(): number})
            with working(service):
                waited.append(site.wait_for(site.repo.head()))
            site.check()
            assert {file["path"] for file in site.tree()["files"]} == set(_generation(number))
        # Texts are read while the worker is killed again and again; a job that was there three times is given up, and
        # asked for anew within the hour.
        with service.app.app_context():
            jobs.complete()
            db.session.commit()
        with working(service):
            site.wait_for_texts(site.repo.head())
        print(
            f"\n{kills} kills, whole again at most {max(waited):.0f} s after the last of a commit, nothing left undone"
        )


def _generation(number: int) -> dict[str, Any]:
    return {f"g{number}/{n}.md": b"%d of %d\n" % (n, number) for n in range(FILES)}


def _kill_while_indexing(site: Site, generations: dict[str, int]) -> int:
    """Kill the worker at random points of indexing the newer commit; how often it had not got there.

    What is served then is the older tree, whole; where the worker was done already, the newer one.
    """
    old, new = generations
    for kills in range(WORKER_KILLS):
        newest = site.newest_generation()
        with working(site.service):
            site.service.client(site.owner).post(site.url("/reindex"), json={}, timeout=30)
            site.wait_for_generation_after(newest)
            time.sleep(random.uniform(*INTO_INDEXING_S))
        told = site.tree()
        assert {file["path"] for file in told["files"]} == set(_generation(generations[told["commit_sha"]]))
        if told["commit_sha"] == new:
            return kills
        assert told["commit_sha"] == old
    return WORKER_KILLS


@dataclass
class Told:
    """What clients were told of their saves: path → the acknowledged commit, None where the answer was lost."""

    saves: dict[str, str | None] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class TestWebKilledWhileSaving:
    def test_nothing_is_lost_and_nothing_is_there_twice(self, service: Service) -> None:
        site, told, stop = make(service, {"a.md": b"a\n"}), Told(), threading.Event()
        with working(service):
            site.wait_for(site.repo.head())
            clients = [threading.Thread(target=_save, args=(site, told, stop, n)) for n in range(CLIENTS)]
            for client in clients:
                client.start()
            for _ in range(WEB_KILLS):
                time.sleep(random.uniform(*PAUSE_S))
                service.kill()
                service.start()
            stop.set()
            for client in clients:
                client.join(60)
            site.wait_for(site.repo.head())
        _check_git(site, told)
        site.check()
        _check_log(site)


def _save(site: Site, told: Told, stop: threading.Event, number: int) -> None:
    client, count = site.service.client(site.owner), 0
    while not stop.is_set():
        count += 1
        path = f"saved/{number}-{count}.md"
        with told.lock:
            told.saves[path] = None
        body = {"message": f"Save {path}", "base_sha": site.repo.head(), "files": [_created(path)]}
        try:
            answer = client.post(site.url("/commit"), json=body, timeout=30)
        except requests.RequestException:
            time.sleep(0.1)
            continue
        if answer.status_code == 201:
            with told.lock:
                told.saves[path] = answer.json()["result"]["commit_sha"]


def _created(path: str) -> dict[str, str]:
    return {"path": path, "action": "create", "content": f"{path}\n"}


def _check_git(site: Site, told: Told) -> None:
    """Every acknowledged save is the commit that was told; every other one is there once or not at all."""
    site.repo.check()
    subjects = Counter(site.repo.text("log", "--format=%s", "main").splitlines())
    assert max(subjects.values()) == 1, subjects.most_common(3)
    commits = set(site.repo.commits())
    acknowledged = {path: sha for path, sha in told.saves.items() if sha is not None}
    assert len(acknowledged) >= WEB_KILLS, "too little happened"
    for path, sha in acknowledged.items():
        assert sha in commits, path
        assert site.repo.show(path) == f"{path}\n".encode()
    lost = len(told.saves) - len(acknowledged)
    print(f"\n{len(acknowledged)} saves acknowledged, {lost} answers lost, {len(commits) - 1} commits")


def _check_log(site: Site) -> None:
    """Each commit's file stands in the log once."""
    entries, cursor = [], None
    client = site.service.client(site.owner)
    while True:
        query = {"limit": 100} | ({"cursor": cursor} if cursor else {})
        page = client.get(f"{site.service.url}/api/v1/project-log/{site.project}", params=query, timeout=30).json()[
            "result"
        ]
        entries += [(entry["commit_sha"], entry["file"]) for entry in page["logs"]]
        cursor = page["meta"]["next_cursor"]
        if cursor is None:
            break
    assert len(entries) == len(set(entries)), "an entry stands twice"
    assert {sha for sha, _ in entries} == set(site.repo.commits()[:-1])
