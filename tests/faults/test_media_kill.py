"""Test of a service that is killed at random during uploads and deletions. No acknowledged change may be lost or partial.

It takes about a minute. Run it with `make faults`.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import requests
import sqlalchemy as sa

from app.database.transactions import reading_context
from app.drivers.storage.port import ObjectStore
from app.extensions import db
from app.models.media import MediaAsset
from app.resources.bucket import jobs
from tests.support.samples.pictures import noise
from tests.support.servers.service import Service
from tests.support.world import Person

KILLS, CLIENTS = 8, 6
PAUSE_S = (0.8, 2.5)


@dataclass
class ObservedUploads:
    """The acknowledged uploads, and the keys whose deletion was requested or acknowledged."""

    kept: dict[str, int] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


class TestRandomKills:
    def test_killed_service_keeps_acknowledged_uploads_completely_and_no_others(self, tmp_path: Path) -> None:
        observed, stop = ObservedUploads(), threading.Event()
        with Service(tmp_path) as service:
            people = [service.world.person() for _ in range(CLIENTS)]
            threads = [threading.Thread(target=_use, args=(service, person, observed, stop)) for person in people]
            for thread in threads:
                thread.start()
            for _ in range(KILLS):
                time.sleep(random.uniform(*PAUSE_S))
                service.kill()
                service.start()
            stop.set()
            for thread in threads:
                thread.join(60)
            _check_answers(service, people[0], observed)
            _check_store(service)
        assert len(observed.kept) >= KILLS, "too little happened"
        assert observed.deleted, "nothing was deleted"


def _use(service: Service, person: Person, observed: ObservedUploads, stop: threading.Event) -> None:
    content, client = noise(500, 400), service.client(person)
    while not stop.is_set():
        try:
            answer = client.post(f"{service.url}/api/v1/bucket/upload", files={"file": ("a.png", content)}, timeout=30)
            if answer.status_code != 201:
                continue
            asset = answer.json()["result"]
            with observed.lock:
                observed.kept[asset["key"]] = asset["size"]
            if random.random() < 0.3:
                _delete(client, service, asset["key"], observed)
        except requests.RequestException:
            time.sleep(0.1)


def _delete(client: requests.Session, service: Service, key: str, observed: ObservedUploads) -> None:
    with observed.lock:
        observed.asked.add(key)
    if client.delete(f"{service.url}/api/v1/bucket/delete/{key}", timeout=30).status_code == 200:
        with observed.lock:
            observed.deleted.add(key)


def _check_answers(service: Service, person: Person, observed: ObservedUploads) -> None:
    client = service.client(person)
    for key, size in observed.kept.items():
        answer = client.get(f"{service.url}/media/{key}", timeout=30)
        if key in observed.deleted:
            assert answer.status_code == 404, key
        elif key not in observed.asked:
            assert (answer.status_code, len(answer.content)) == (200, size), key


def _check_store(service: Service) -> None:
    """Check that rows and objects are equal after the jobs and a cleanup without a minimum age."""
    store: ObjectStore = service.app.extensions["drivers"].storage
    with reading_context(service.app):
        jobs.delete_unfinished_rows(timedelta(0))
    service.world.work_off()
    with service.app.app_context():
        rows = dict(db.session.execute(sa.select(MediaAsset.key, MediaAsset.size)).all())
        objects = {result.key: result.size for result in store.list()}
        assert {key: objects.get(key) for key in rows} == rows
        db.session.commit()
        # The row is written first, so no object without a row remains after the cleanup.
        assert set(objects) == set(rows)
