"""Clients that save files of 1 KiB to 25 MiB and repeat each request under its Idempotency-Key until the result is definite."""

import base64
import hashlib
import random
import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import requests
import sqlalchemy as sa

from app.extensions import db
from app.models.project_log import ProjectLogEntry
from tests.faults.kills import Site

CLIENTS, KILL_INTERVAL_S = 3, 10
DEFINITE_WITHIN_S = 90
RETRY_INTERVAL_S = 1
KIB = 1024
SIZES = (KIB, 10 * KIB, 70 * KIB, 1024 * KIB, 5 * 1024 * KIB, 24 * 1024 * KIB)
WEIGHTS = (30, 20, 20, 15, 10, 5)
FILES = (1, 1, 1, 20, 300)


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
            blobs[path] = _blob_id(text.encode())
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


def run(site: Site, *, seconds: float, seed: int) -> tuple[list[Save], int, list[str]]:
    """Save for some time while processes are killed. Return the saves, the number of kills and all errors."""
    stop, generator, kills = threading.Event(), random.Random(seed), 0
    clients = [SavingClient(site, seed * 100 + number) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.work, args=(stop,)) for client in clients]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stop.wait(KILL_INTERVAL_S)
        site.kill_random_process(generator)
        kills += 1
    stop.set()
    for thread in threads:
        thread.join(DEFINITE_WITHIN_S + 60)
    saves = [save for client in clients for save in client.saves]
    return saves, kills, [error for client in clients for error in client.errors] + differences(site, saves)


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


def _blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
