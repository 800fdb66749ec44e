"""Tests of workers that are killed while they index 50,000 files, and of web workers that are killed during saves.

They take about five minutes. Run them with `make faults`. With `GALLEY_LONG=1` a worker is killed at 20 points instead of 2.
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

from app.database import transactions
from app.database.transactions import reading_context
from app.extensions import db, drivers
from app.models.project import Project
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content import jobs
from app.resources.project_content.index import indexes
from app.resources.project_content.index.index_health import differences
from app.resources.project_content.source import source_of
from tests.support import factories
from tests.support.databases import postgresql_database
from tests.support.samples.gitrepo import GitRepo
from tests.support.servers.service import ROOT, Service
from tests.support.world import Person

FILES, WEB_KILLS, CLIENTS = 50_000, 20, 4
INTO_INDEXING_S = (0.0, 0.3)
PAUSE_S = (0.5, 2.0)
PROMISED_S = 90
TEXTS_S = 900
# After three deaths of its worker, a job is a dead letter.
WORKER_KILLS = 2
KILLS = 20 if os.environ.get("GALLEY_LONG") else 2


@pytest.fixture(params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    if request.param == "sqlite":
        with Service(tmp_path) as created:
            yield created
        return
    with postgresql_database() as url, Service(tmp_path, DATABASE_URL=url) as created:
        yield created


class Worker:
    """`flask worker` on the instance of the service, in a separate process."""

    def __init__(self, service: Service) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "FLASK_APP": "wsgi"}
        self.process = subprocess.Popen(
            [Path(sys.executable).parent / "flask", "worker"], cwd=ROOT, env=environment | service.environment
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@contextmanager
def running_worker(service: Service) -> Iterator[Worker]:
    worker = Worker(service)
    try:
        yield worker
    finally:
        worker.kill()


@dataclass
class Site:
    """A project and its HTTP client."""

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
        """Return the newest generation with index rows, whether it is served or not."""
        newest = sa.select(sa.func.max(ContentFile.generation)).join(
            ContentIndex, ContentIndex.id == ContentFile.index_id
        )
        with self.service.app.extensions["reading_engine"].connect() as connection:
            result: int | None = connection.scalar(newest.where(ContentIndex.project_id == self.project))
        return result or 0

    def wait_for_generation_after(self, generation: int) -> None:
        """Wait until some files of the next generation are written."""
        deadline = time.monotonic() + PROMISED_S
        while self.newest_generation() <= generation:
            assert time.monotonic() < deadline, "indexing was not taken up in time"
            time.sleep(0.005)

    def wait_for_texts(self, commit: str) -> None:
        """Wait until the search finds the texts of the files of the commit."""
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
            index = indexes.find(project.id, "main")
            assert index is not None
            assert list(differences(index, source_of(project, drivers.git))) == []
            db.session.rollback()


def make(service: Service, files: dict[str, Any]) -> Site:
    world = service.world
    owner = world.person()
    name, repo = factories.repository(world, files)
    return Site(service, owner, factories.project(world, owner, factories.organization(world, owner), name), repo)


class TestWorkerKilledWhileIndexing:
    def test_killed_worker_serves_the_old_tree_until_the_new_index_is_complete(self, service: Service) -> None:
        site = make(service, _generation(0))
        with running_worker(service):
            site.wait_for(site.repo.head())
        kills, number, waited = 0, 0, list[float]()
        while kills < KILLS:
            number += 1
            before = site.repo.head()
            site.repo.commit(dict.fromkeys(_generation(number - 1)) | _generation(number))
            kills += _kill_while_indexing(site, {before: number - 1, site.repo.head(): number})
            with running_worker(service):
                waited.append(site.wait_for(site.repo.head()))
            site.check()
            assert {file["path"] for file in site.tree()["files"]} == set(_generation(number))
        # The worker is killed repeatedly while texts are read. A job that started three times is a dead letter and is
        # enqueued again within one hour.
        with reading_context(service.app):
            jobs.complete()
            db.session.commit()
        with running_worker(service):
            site.wait_for_texts(site.repo.head())
        print(
            f"\n{kills} kills, whole again at most {max(waited):.0f} s after the last of a commit, nothing left undone"
        )


def _generation(number: int) -> dict[str, Any]:
    return {f"g{number}/{n}.md": b"%d of %d\n" % (n, number) for n in range(FILES)}


def _kill_while_indexing(site: Site, generations: dict[str, int]) -> int:
    """Kill the worker at random points of the indexing. Return how often the older commit was served.

    The service must serve the complete older tree, or the newer one if the worker had finished.
    """
    old, new = generations
    for kills in range(WORKER_KILLS):
        newest = site.newest_generation()
        with running_worker(site.service):
            site.service.client(site.owner).post(site.url("/reindex"), json={}, timeout=30)
            site.wait_for_generation_after(newest)
            time.sleep(random.uniform(*INTO_INDEXING_S))
        record = site.tree()
        assert {file["path"] for file in record["files"]} == set(_generation(generations[record["commit_sha"]]))
        if record["commit_sha"] == new:
            return kills
        assert record["commit_sha"] == old
    return WORKER_KILLS


@dataclass
class SaveRecord:
    """The saves of the clients: path → acknowledged commit, or None if the response was lost."""

    saves: dict[str, str | None] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class TestWebKilledWhileSaving:
    def test_killed_web_worker_keeps_each_acknowledged_save_once(self, service: Service) -> None:
        site, record, stop = make(service, {"a.md": b"a\n"}), SaveRecord(), threading.Event()
        with running_worker(service):
            site.wait_for(site.repo.head())
            clients = [threading.Thread(target=_save, args=(site, record, stop, n)) for n in range(CLIENTS)]
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
        _check_git(site, record)
        site.check()
        _check_log(site)


def _save(site: Site, record: SaveRecord, stop: threading.Event, number: int) -> None:
    client, count = site.service.client(site.owner), 0
    while not stop.is_set():
        count += 1
        path = f"saved/{number}-{count}.md"
        with record.lock:
            record.saves[path] = None
        body = {"message": f"Save {path}", "base_sha": site.repo.head(), "files": [_created(path)]}
        try:
            answer = client.post(site.url("/commit"), json=body, timeout=30)
        except requests.RequestException:
            time.sleep(0.1)
            continue
        if answer.status_code == 201:
            with record.lock:
                record.saves[path] = answer.json()["result"]["commit_sha"]


def _created(path: str) -> dict[str, str]:
    return {"path": path, "action": "create", "content": f"{path}\n"}


def _check_git(site: Site, record: SaveRecord) -> None:
    """Check that each acknowledged save is in its commit, and each other save exists at most once."""
    site.repo.check()
    subjects = Counter(site.repo.text("log", "--format=%s", "main").splitlines())
    assert max(subjects.values()) == 1, subjects.most_common(3)
    commits = set(site.repo.commits())
    acknowledged = {path: sha for path, sha in record.saves.items() if sha is not None}
    assert len(acknowledged) >= WEB_KILLS, "too little happened"
    for path, sha in acknowledged.items():
        assert sha in commits, path
        assert site.repo.show(path) == f"{path}\n".encode()
    lost = len(record.saves) - len(acknowledged)
    print(f"\n{len(acknowledged)} saves acknowledged, {lost} answers lost, {len(commits) - 1} commits")


def _check_log(site: Site) -> None:
    """Check that the log contains the file of each commit once."""
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
