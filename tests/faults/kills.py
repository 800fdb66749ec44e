"""Clients that write while processes of the service are killed at random, and a check of the result.

The clients write organizations, invitations (a job mails each), preferences, project names, log entries, files (commits)
and images. A write without a response may have taken effect. No acknowledged write may be lost, and none may occur twice.
"""

import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import requests
import sqlalchemy as sa

from app.extensions import db
from app.models.organization import Invitation, Membership, Organization
from app.models.project_log import ProjectLogEntry
from tests.fuzz.invariants import organizations_without_one_owner
from tests.support import factories
from tests.support.assertions.mailbox import Mailbox
from tests.support.samples.pictures import picture
from tests.support.servers.service import ROOT, Service
from tests.support.world import Person

CLIENTS, PAUSE_S = 6, (0.2, 1.5)
MAILS_WITHIN_S = 300


@dataclass
class WriteRecord:
    """The requested and acknowledged writes by kind. The client chooses unique keys."""

    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Kind → key → the acknowledged result, or None."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    wrong: list[str] = field(default_factory=list)

    def ask(self, kind: str, key: str) -> None:
        with self.lock:
            self.asked.setdefault(kind, {})[key] = None

    def acknowledge(self, kind: str, key: str, what: Any) -> None:
        with self.lock:
            self.asked[kind][key] = what

    def acknowledged(self, kind: str) -> dict[str, Any]:
        with self.lock:
            return {key: what for key, what in self.asked.get(kind, {}).items() if what is not None}

    @property
    def total(self) -> int:
        """Return the number of acknowledged writes."""
        with self.lock:
            return sum(what is not None for kind in self.asked.values() for what in kind.values())


class Site:
    """A project to which all clients write, and the processes of the service."""

    def __init__(self, service: Service) -> None:
        self.service, world = service, service.world
        self.owner = world.person()
        self.name, self.repository = factories.repository(world, {"a.md": b"a\n"})
        self.organization = factories.organization(world, self.owner)
        self.project = factories.project(world, self.owner, self.organization, self.name)
        self.start_worker()

    def start_worker(self) -> None:
        """Start a job worker."""
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "FLASK_APP": "wsgi"}
        command = [str(Path(sys.executable).parent / "flask"), "worker"]
        self.worker = subprocess.Popen(command, cwd=ROOT, env=environment | self.service.environment)

    def kill_random_process(self, generator: random.Random) -> None:
        """Kill a web worker (70 %), the web server (15 %) or the job worker (15 %). Restart it if its parent does not."""
        chance = generator.random()
        if chance < 0.15:
            self.worker.kill()
            self.worker.wait(10)
            self.start_worker()
        elif chance < 0.3:
            self.service.kill(signal.SIGKILL)
            self.service.start()
        else:
            workers = psutil.Process(self.service.process.pid).children()
            if workers:
                generator.choice(workers).kill()

    def close(self) -> None:
        """End the job worker."""
        self.worker.kill()
        self.worker.wait(10)


class Client:
    """A client with a separate user."""

    def __init__(self, site: Site, record: WriteRecord, number: int) -> None:
        self.site, self.record, self.generator = site, record, random.Random(number)
        self.person: Person = site.service.world.person()
        self.api = site.service.url + "/api/v1"
        self.themes: set[str] = {"system"}
        kinds: tuple[tuple[Callable[[], None], int], ...] = (
            (self.make_organization, 25), (self.invite, 10), (self.set_theme, 25), (self.log, 25), (self.save, 12), (self.upload, 3),
        )  # fmt: skip
        self._kinds = [kind for kind, weight in kinds for _ in range(weight)]

    def work(self, stop: threading.Event) -> None:
        """Write until `stop` is set."""
        self._mine, self._owners = (self.site.service.client(who) for who in (self.person, self.site.owner))
        while not stop.is_set():
            try:
                self.generator.choice(self._kinds)()
            except requests.RequestException:
                time.sleep(0.05)

    def make_organization(self) -> None:
        name = f"Org {secrets.token_hex(8)}"
        self._write("organization", name, "POST", "/organization", {"org_name": name}, 201)

    def invite(self) -> None:
        email = f"i{secrets.token_hex(8)}@mail.example.org"
        path = f"/organization/member/{self.site.organization}"
        self._write("invitation", email, "PATCH", path, {"email": email, "role": "editor"}, 200, owner=True)

    def set_theme(self) -> None:
        theme = self.generator.choice(("light", "dark", "system"))
        before, key = set(self.themes), secrets.token_hex(8)
        self.themes.add(theme)
        if self._write("theme", key, "PATCH", f"/user-preference/theme/{self.person.id}", {"theme": theme}, 200):
            self.themes = {theme}
        else:
            self.themes = before | {theme}

    def log(self) -> None:
        file = f"logged/{secrets.token_hex(8)}.md"
        self._write(
            "log",
            file,
            "POST",
            f"/project-log/{self.site.project}",
            {"action": "update", "file": file},
            201,
            owner=True,
        )

    def save(self) -> None:
        path = f"saved/{secrets.token_hex(8)}.md"
        files = [{"path": path, "action": "create", "content": f"{path}\n"}]
        body = {"message": f"Save {path}", "base_sha": self.site.repository.head(), "files": files}
        self._write("save", path, "POST", f"/project-content/{self.site.project}/commit", body, 201, owner=True)

    def upload(self) -> None:
        key = secrets.token_hex(8)
        self.record.ask("upload", key)
        answer = self._mine.post(f"{self.api}/bucket/upload", files={"file": ("a.png", picture())}, timeout=60)
        if answer.status_code == 201:
            self.record.acknowledge("upload", key, answer.json()["result"])

    def _write(self, kind: str, key: str, method: str, path: str, body: Any, good: int, *, owner: bool = False) -> bool:
        self.record.ask(kind, key)
        client = self._owners if owner else self._mine
        answer = client.request(method, self.api + path, json=body, timeout=60)
        if answer.status_code == good:
            self.record.acknowledge(kind, key, answer.json()["result"])
        elif answer.status_code not in (409, 429, 502, 503, 504):
            self.record.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return bool(answer.status_code == good)


def run_kills(service: Service, *, kills: int, writes: int, seed: int) -> tuple[WriteRecord, list[str]]:
    """Kill `kills` times while at least `writes` are acknowledged. Return the record and all errors."""
    site, record, stop, generator = Site(service), WriteRecord(), threading.Event(), random.Random(seed)
    clients = [Client(site, record, seed * 1000 + number) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.work, args=(stop,)) for client in clients]
    try:
        for thread in threads:
            thread.start()
        for number in range(1, kills + 1):
            while record.total < writes * number // (kills + 1):
                time.sleep(0.02)
            time.sleep(generator.uniform(*PAUSE_S))
            site.kill_random_process(generator)
        while record.total < writes:
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join(120)
        return record, [*record.wrong, *_find_errors(site, record, clients)]
    finally:
        stop.set()
        site.close()


def _find_errors(site: Site, record: WriteRecord, clients: list[Client]) -> list[str]:
    wrong: list[str] = []
    app = site.service.app
    with app.app_context():
        db.session.rollback()
        organizations = Counter(db.session.scalars(sa.select(Organization.name)))
        members = Counter(db.session.scalars(sa.select(Membership.organization_id)))
        ids = {name: org_id for name, org_id in db.session.execute(sa.select(Organization.name, Organization.id))}  # noqa: C416 (rows are no tuples)
        invitations = Counter(db.session.scalars(sa.select(Invitation.email_key)))
        logged = Counter(db.session.scalars(sa.select(ProjectLogEntry.file).filter_by(project_id=site.project)))
        db.session.rollback()
    wrong += _counted("organization", record, organizations)
    wrong += _counted("invitation", record, invitations)
    wrong += _counted("log", record, logged)
    wrong += [
        f"{name} has {members[ids[name]]} members"
        for name in record.asked["organization"]
        if name in ids and members[ids[name]] != 1
    ]
    wrong += [f"{org_id} has not one owner" for org_id in organizations_without_one_owner(app)]
    commits, subjects = (
        set(site.repository.commits()),
        Counter(site.repository.text("log", "--format=%s", "main").splitlines()),
    )
    wrong += [
        f"save {path} lost" for path, reply in record.acknowledged("save").items() if reply["commit_sha"] not in commits
    ]
    wrong += [f"{subject} is there {times} times" for subject, times in subjects.items() if times > 1]
    wrong += [
        f"saved {path} is logged {logged[path]} times" for path in record.acknowledged("save") if logged[path] != 1
    ]
    site.repository.check()
    for client in clients:
        api = site.service.client(client.person)
        theme = api.get(f"{client.api}/user-preference/{client.person.id}", timeout=60).json()["result"]["theme"]
        wrong += [f"theme {theme}, expected one of {client.themes}"] if theme not in client.themes else []
    api = site.service.client(site.owner)
    for reply in record.acknowledged("upload").values():
        answer = api.get(f"{site.service.url}/media/{reply['key']}", timeout=60)
        if (answer.status_code, len(answer.content)) != (200, reply["size"]):
            wrong.append(f"upload {reply['key']}: {answer.status_code}")
    return wrong + _missing_mails(site, record)


def _counted(kind: str, record: WriteRecord, result: Counter[str]) -> list[str]:
    lost = [f"{kind} {key} lost" for key in record.acknowledged(kind) if not result[key]]
    return lost + [
        f"{kind} {key} is there {result[key]} times" for key in record.asked.get(kind, {}) if result[key] > 1
    ]


def _missing_mails(site: Site, record: WriteRecord) -> list[str]:
    """Return the acknowledged invitations without a mail. A mail may occur twice if its worker was killed."""
    folder, waiting = Path(site.service.environment["MAIL_DIR"]), set(record.acknowledged("invitation"))
    deadline = time.monotonic() + MAILS_WITHIN_S
    while waiting and time.monotonic() < deadline:
        waiting -= (
            {address for address in waiting if Mailbox(folder, address).mails()}
            if len(waiting) < 20
            else _recipients(folder)
        )
        time.sleep(0.5)
    return [f"the invitation of {address} was never mailed" for address in waiting]


def _recipients(folder: Path) -> set[str]:
    addresses = set()
    for file in folder.glob("*.eml"):
        head = file.read_text(errors="replace").partition("\n\n")[0]
        addresses |= {line[3:].strip().lower() for line in head.splitlines() if line.lower().startswith("to:")}
    return addresses
