"""Clients that save files of 1 KiB to 25 MiB and repeat each request under its Idempotency-Key until the result is definite.

The repository is packed all the time, and receives unreferenced objects that packing deletes. Another client pushes.
"""

import base64
import os
import random
import secrets
import signal
import threading
import time
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import requests
import sqlalchemy as sa

from app.drivers.errors import DriverError
from app.drivers.git.local.packing import MAX_LOOSE_OBJECTS, loose_objects
from app.drivers.git.object_ids import GitObject, new_object, object_header
from app.extensions import db, jobs
from app.models.project_log import ProjectLogEntry
from tests.faults.killed_pushes import Pusher
from tests.faults.kills import Site

CLIENTS, KILL_INTERVAL_S = 3, 10
DEFINITE_WITHIN_S = 300
RETRY_INTERVAL_S = 1
KIB = 1024
SIZES = (KIB, 10 * KIB, 70 * KIB, 1024 * KIB, 5 * 1024 * KIB, 24 * 1024 * KIB)
WEIGHTS = (30, 20, 20, 15, 10, 5)
FILES = (1, 1, 1, 20, 300)
OLD_S = 21 * 86_400
PACKED_WITHIN_S = 60


@dataclass
class Save:
    """A save request and its definite result."""

    key: str
    blobs: dict[str, str]
    """Git's object id of the content by path."""
    status: int = 0
    result: Any = None
    attempts: int = 0
    duration_s: float = 0.0


class SavingClient:
    """A client that saves new files of random sizes."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site, self.generator = site, random.Random(seed)
        self.saves: list[Save] = []
        self.errors: list[str] = []

    def work(self, stop: threading.Event) -> None:
        """Save until `stop` is set."""
        session = self.site.service.client(self.site.owner)
        while not stop.is_set():
            save, body = self._new_save()
            self.saves.append(save)
            self._send(session, save, body)

    def _new_save(self) -> tuple[Save, dict[str, Any]]:
        size = self.generator.choices(SIZES, WEIGHTS)[0]
        number = min(self.generator.choice(FILES), max(1, size // 64))
        folder = f"saved/{secrets.token_hex(8)}"
        files: list[dict[str, str]] = []
        blobs: dict[str, str] = {}
        for index in range(number):
            path, text = f"{folder}/{index}.md", self.generator.randbytes(size // number // 2).hex()
            is_binary = self.generator.random() < 0.3
            content = base64.b64encode(text.encode()).decode() if is_binary else text
            encoding = "base64" if is_binary else "utf-8"
            files.append({"path": path, "action": "create", "content": content, "encoding": encoding})
            blob = new_object("blob", text.encode())
            if self.generator.random() < 0.2:
                # An old unreferenced object of this content exists, which packing may delete at the moment of the save.
                write_unreferenced(self.site.repository.folder, blob, age_s=OLD_S)
            blobs[path] = blob.sha
        while sum(len(file["content"]) for file in files) > 24 * 1024 * KIB:
            blobs.pop(files.pop()["path"])
        if not files:
            return self._new_save()
        body = {"message": f"Save {folder}", "base_sha": self.site.repository.head(), "files": files}
        return Save(folder, blobs), body

    def _send(self, session: requests.Session, save: Save, body: dict[str, Any]) -> None:
        """Repeat the request until the service returns a definite result."""
        url = f"{self.site.service.url}/api/v1/project-content/{self.site.project}/commit"
        start = time.monotonic()
        while time.monotonic() < start + DEFINITE_WITHIN_S:
            save.attempts += 1
            try:
                response = session.post(url, json=body, headers={"Idempotency-Key": save.key}, timeout=60)
            except requests.RequestException:
                time.sleep(RETRY_INTERVAL_S)
                continue
            code = response.json().get("code")
            if response.status_code in (429, 502, 503, 504) or code == "STILL_RUNNING":
                time.sleep(RETRY_INTERVAL_S)
                continue
            save.status, save.result = response.status_code, response.json().get("result")
            save.duration_s = time.monotonic() - start
            if response.status_code != 201:
                self.errors.append(f"{save.key}: {response.status_code} {response.text[:300]}")
            return
        self.errors.append(f"{save.key}: no definite result after {save.attempts} attempts")


class Packer:
    """A client that makes packing necessary, enqueues the job and waits for its result, again and again."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site, self.generator, self.folder = site, random.Random(seed), site.repository.folder
        self.packings = self.direct = 0

    def work(self, stop: threading.Event) -> None:
        """Pack until `stop` is set, and at least once."""
        while not (stop.is_set() and self.packings):
            for _ in range(MAX_LOOSE_OBJECTS - loose_objects(self.folder) + 1):
                age_s = self.generator.choice((0, OLD_S))
                write_unreferenced(self.folder, new_object("blob", self.generator.randbytes(20)), age_s=age_s)
            with suppress(sa.exc.OperationalError), self.site.service.app.app_context():
                jobs.enqueue("content.tidy", unique="periodic:content.tidy")
                db.session.commit()
            end = time.monotonic() + PACKED_WITHIN_S
            while loose_objects(self.folder) > MAX_LOOSE_OBJECTS // 2 and time.monotonic() < end:
                time.sleep(0.2)
            self.packings += time.monotonic() < end

    def work_directly(self, stop: threading.Event) -> None:
        """Pack in this process as the job does, until `stop` is set."""
        local = self.site.service.app.extensions["drivers"].git.local
        while not stop.is_set():
            with suppress(DriverError):  # It was killed, or the job packs.
                self.direct += local.open(self.site.name).repack()
            stop.wait(0.2)

    def kill(self) -> bool:
        """Kill a running packing. Return False if there is none."""
        for process in psutil.process_iter():
            with suppress(psutil.Error, ProcessLookupError):
                arguments = process.cmdline()
                if f"--git-dir={self.folder}" in arguments and "gc" in arguments:
                    os.killpg(process.pid, signal.SIGKILL)
                    return True
        return False


def write_unreferenced(folder: Path, item: GitObject, *, age_s: float) -> None:
    """Write a loose object of an age."""
    path = folder / "objects" / item.sha[:2] / item.sha[2:]
    with suppress(FileExistsError):
        path.parent.mkdir()
    temporary = folder / f"objects/tmp_obj_{secrets.token_hex(8)}"
    temporary.write_bytes(zlib.compress(object_header(item.type, item.content) + item.content, 1))
    os.utime(temporary, (time.time() - age_s,) * 2)
    with suppress(FileNotFoundError):  # Packing has removed the empty folder.
        temporary.replace(path)


class Result(NamedTuple):
    """The saves, the numbers of kills, packings and accepted pushes, and all errors."""

    saves: list[Save]
    kills: int
    packings: int
    pushes: int
    errors: list[str]


def run(site: Site, *, seconds: float, seed: int, kill_interval_s: float = KILL_INTERVAL_S) -> Result:
    """Save, push and pack for some time while processes are killed. Afterwards sweep what they have left."""
    stop, generator, kills = threading.Event(), random.Random(seed), 0
    clients, packer = [SavingClient(site, seed * 100 + number) for number in range(CLIENTS)], Packer(site, seed)
    pusher, has_pushed = Pusher(site, seed), threading.Event()
    pushing = threading.Thread(target=pusher.work, args=(has_pushed,))
    threads = [threading.Thread(target=client.work, args=(stop,)) for client in (*clients, packer)]
    threads.append(threading.Thread(target=packer.work_directly, args=(stop,)))
    for thread in (*threads, pushing):
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = _answered(clients)
        stop.wait(kill_interval_s)
        while _answered(clients) == before and time.monotonic() < end:  # A busy machine starts the service slowly.
            time.sleep(0.2)
        chance = generator.random()
        if not (packer.kill() if chance < 0.2 else chance < 0.3 and pusher.kill()):
            site.kill_random_process(generator)
        kills += 1
    stop.set()
    for thread in threads:
        thread.join(DEFINITE_WITHIN_S + 60)
    missing = pusher.kill_service()
    has_pushed.set()
    pushing.join(2 * DEFINITE_WITHIN_S)
    saves = [save for client in clients for save in client.saves]
    errors = [error for client in clients for error in client.errors]
    errors += [f"{thread} has not ended" for thread in (*threads, pushing) if thread.is_alive()]
    errors += [*differences(site, saves), *pusher.differences()]
    errors += [f"no kill has left a folder {kind}" for kind in missing]
    errors += [f"{file} stays" for file in pusher.sweep()]
    return Result(saves, kills, packer.packings + packer.direct, len(pusher.commits), errors)


def _answered(clients: list[SavingClient]) -> int:
    """Return the number of saves with a definite result."""
    return sum(save.status != 0 for client in clients for save in client.saves)


def differences(site: Site, saves: list[Save]) -> list[str]:
    """Compare the acknowledged saves with the branch and the project log."""
    subjects = Counter(site.repository.text("log", "--format=%s", "main").splitlines())
    with site.service.app.app_context():
        logged = Counter(db.session.scalars(sa.select(ProjectLogEntry.file).filter_by(project_id=site.project)))
        db.session.rollback()
    entries = site.repository.entries()
    errors = [f"{subject} is committed {count} times" for subject, count in subjects.items() if count > 1]
    for save in saves:
        if save.status != 201:
            continue
        if subjects[f"Save {save.key}"] != 1:
            errors.append(f"{save.key} is committed {subjects[f'Save {save.key}']} times")
            continue
        for path, blob in save.blobs.items():
            if entries[path][2] != blob:
                errors.append(f"{path} has another content")
            if logged[path] != 1:
                errors.append(f"{path} is logged {logged[path]} times")
    site.repository.check()
    return errors
