"""A service killed at random while people upload and delete: nothing that was acknowledged is lost, nothing is half there.

Takes about a minute; run by `make faults`.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import requests
import sqlalchemy as sa

from app.drivers.storage.port import ObjectStore
from app.extensions import db
from app.models.media import MediaAsset
from app.resources.bucket import sweeping
from tests.samples.pictures import noise
from tests.servers.service import Service
from tests.world import Person

KILLS, CLIENTS = 8, 6
PAUSE_S = (0.8, 2.5)


@dataclass
class Seen:
    """What the clients were told: keys of uploads, and keys whose deletion was asked for or acknowledged."""

    kept: dict[str, int] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


class TestRandomKills:
    def test_what_was_acknowledged_is_whole_and_the_rest_is_nothing(self, tmp_path: Path) -> None:
        seen, stop = Seen(), threading.Event()
        with Service(tmp_path) as service:
            people = [service.world.person() for _ in range(CLIENTS)]
            threads = [threading.Thread(target=_use, args=(service, person, seen, stop)) for person in people]
            for thread in threads:
                thread.start()
            for _ in range(KILLS):
                time.sleep(random.uniform(*PAUSE_S))
                service.kill()
                service.start()
            stop.set()
            for thread in threads:
                thread.join(60)
            _check_answers(service, people[0], seen)
            _check_store(service)
        assert len(seen.kept) >= KILLS, "too little happened"
        assert seen.deleted, "nothing was deleted"


def _use(service: Service, person: Person, seen: Seen, stop: threading.Event) -> None:
    content, client = noise(500, 400), service.client(person)
    while not stop.is_set():
        try:
            answer = client.post(f"{service.url}/api/v1/bucket/upload", files={"file": ("a.png", content)}, timeout=30)
            if answer.status_code != 201:
                continue
            asset = answer.json()["result"]
            with seen.lock:
                seen.kept[asset["key"]] = asset["size"]
            if random.random() < 0.3:
                _delete(client, service, asset["key"], seen)
        except requests.RequestException:
            time.sleep(0.1)


def _delete(client: requests.Session, service: Service, key: str, seen: Seen) -> None:
    with seen.lock:
        seen.asked.add(key)
    if client.delete(f"{service.url}/api/v1/bucket/delete/{key}", timeout=30).status_code == 200:
        with seen.lock:
            seen.deleted.add(key)


def _check_answers(service: Service, person: Person, seen: Seen) -> None:
    client = service.client(person)
    for key, size in seen.kept.items():
        answer = client.get(f"{service.url}/media/{key}", timeout=30)
        if key in seen.deleted:
            assert answer.status_code == 404, key
        elif key not in seen.asked:
            assert (answer.status_code, len(answer.content)) == (200, size), key


def _check_store(service: Service) -> None:
    """After the jobs and a sweep that takes everything for old, rows and objects are the same."""
    store: ObjectStore = service.app.extensions["drivers"]["storage"]
    with service.app.app_context():
        sweeping.delete_unfinished_rows(timedelta(0))
    service.world.work_off()
    with service.app.app_context():
        rows = dict(db.session.execute(sa.select(MediaAsset.key, MediaAsset.size)).all())
        objects = {found.key: found.size for found in store.list()}
        assert {key: objects.get(key) for key in rows} == rows
        db.session.commit()
        # An object may be on its way without a row only until the sweep: none is, because the row comes first.
        assert set(objects) == set(rows)
