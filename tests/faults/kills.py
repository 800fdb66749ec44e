"""Clients that write all the time, of which every process of the service is killed at random, and the account afterwards.

What is written: organizations, invitations (a job mails each), preferences, project names, log entries, files (real
commits), images. An answer that never came may mean either; an acknowledged one may not be lost, and nothing may be doubled.
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
from tests import factories
from tests.fuzz.witness import organizations_without_one_owner
from tests.samples.pictures import picture
from tests.servers.service import ROOT, Service
from tests.witnesses.mailbox import Mailbox
from tests.world import Person

CLIENTS, PAUSE_S = 6, (0.2, 1.5)
MAILS_WITHIN_S = 300


@dataclass
class Account:
    """What was asked for and what was acknowledged, by kind; a kind's keys are chosen by the client and unique."""

    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    """kind → key → what was acknowledged of it, None while it was not."""
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
        """How many writes were acknowledged."""
        with self.lock:
            return sum(what is not None for kind in self.asked.values() for what in kind.values())


class Site:
    """A project everybody writes to, and the service's processes."""

    def __init__(self, service: Service) -> None:
        self.service, world = service, service.world
        self.owner = world.person()
        name, self.repository = factories.repository(world, {"a.md": b"a\n"})
        self.organization = factories.organization(world, self.owner)
        self.project = factories.project(world, self.owner, self.organization, name)
        self.start_worker()

    def start_worker(self) -> None:
        """Start a job worker."""
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "FLASK_APP": "wsgi"}
        command = [str(Path(sys.executable).parent / "flask"), "worker"]
        self.worker = subprocess.Popen(command, cwd=ROOT, env=environment | self.service.environment)

    def kill_something(self, dice: random.Random) -> None:
        """Most often one web worker, whose master starts another; else the whole server or the job worker."""
        chance = dice.random()
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
                dice.choice(workers).kill()

    def close(self) -> None:
        """End the job worker."""
        self.worker.kill()
        self.worker.wait(10)


class Client:
    """One of the writers, with a person of its own."""

    def __init__(self, site: Site, account: Account, number: int) -> None:
        self.site, self.account, self.dice = site, account, random.Random(number)
        self.person: Person = site.service.world.person()
        self.api = site.service.url + "/api/v1"
        self.themes: set[str] = {"system"}
        kinds: tuple[tuple[Callable[[], None], int], ...] = (
            (self.make_organization, 25), (self.invite, 10), (self.set_theme, 25), (self.log, 25), (self.save, 12), (self.upload, 3),
        )  # fmt: skip
        self._kinds = [kind for kind, weight in kinds for _ in range(weight)]

    def work(self, stop: threading.Event) -> None:
        """Write until told to stop."""
        self._mine, self._owners = (self.site.service.client(who) for who in (self.person, self.site.owner))
        while not stop.is_set():
            try:
                self.dice.choice(self._kinds)()
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
        theme = self.dice.choice(("light", "dark", "system"))
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
        self.account.ask("upload", key)
        answer = self._mine.post(f"{self.api}/bucket/upload", files={"file": ("a.png", picture())}, timeout=60)
        if answer.status_code == 201:
            self.account.acknowledge("upload", key, answer.json()["result"])

    def _write(self, kind: str, key: str, method: str, path: str, body: Any, good: int, *, owner: bool = False) -> bool:
        self.account.ask(kind, key)
        client = self._owners if owner else self._mine
        answer = client.request(method, self.api + path, json=body, timeout=60)
        if answer.status_code == good:
            self.account.acknowledge(kind, key, answer.json()["result"])
        elif answer.status_code not in (409, 429, 502, 503, 504):
            self.account.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return bool(answer.status_code == good)


def play(service: Service, *, kills: int, writes: int, seed: int) -> tuple[Account, list[str]]:
    """Kill `kills` times while at least `writes` are acknowledged; returns the account and everything that is wrong."""
    site, account, stop, dice = Site(service), Account(), threading.Event(), random.Random(seed)
    clients = [Client(site, account, seed * 1000 + number) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.work, args=(stop,)) for client in clients]
    try:
        for thread in threads:
            thread.start()
        for number in range(1, kills + 1):
            while account.total < writes * number // (kills + 1):
                time.sleep(0.02)
            time.sleep(dice.uniform(*PAUSE_S))
            site.kill_something(dice)
        while account.total < writes:
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join(120)
        return account, [*account.wrong, *_lost_or_doubled(site, account, clients)]
    finally:
        stop.set()
        site.close()


def _lost_or_doubled(site: Site, account: Account, clients: list[Client]) -> list[str]:
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
    wrong += _counted("organization", account, organizations)
    wrong += _counted("invitation", account, invitations)
    wrong += _counted("log", account, logged)
    wrong += [
        f"{name} has {members[ids[name]]} members"
        for name in account.asked["organization"]
        if name in ids and members[ids[name]] != 1
    ]
    wrong += [f"{org_id} has not one owner" for org_id in organizations_without_one_owner(app)]
    commits, subjects = (
        set(site.repository.commits()),
        Counter(site.repository.text("log", "--format=%s", "main").splitlines()),
    )
    wrong += [
        f"save {path} lost" for path, told in account.acknowledged("save").items() if told["commit_sha"] not in commits
    ]
    wrong += [f"{subject} is there {times} times" for subject, times in subjects.items() if times > 1]
    wrong += [
        f"saved {path} is logged {logged[path]} times" for path in account.acknowledged("save") if logged[path] != 1
    ]
    site.repository.check()
    for client in clients:
        api = site.service.client(client.person)
        theme = api.get(f"{client.api}/user-preference/{client.person.id}", timeout=60).json()["result"]["theme"]
        wrong += [f"theme {theme}, expected one of {client.themes}"] if theme not in client.themes else []
    api = site.service.client(site.owner)
    for told in account.acknowledged("upload").values():
        answer = api.get(f"{site.service.url}/media/{told['key']}", timeout=60)
        if (answer.status_code, len(answer.content)) != (200, told["size"]):
            wrong.append(f"upload {told['key']}: {answer.status_code}")
    return wrong + _unmailed(site, account)


def _counted(kind: str, account: Account, found: Counter[str]) -> list[str]:
    lost = [f"{kind} {key} lost" for key in account.acknowledged(kind) if not found[key]]
    return lost + [f"{kind} {key} is there {found[key]} times" for key in account.asked.get(kind, {}) if found[key] > 1]


def _unmailed(site: Site, account: Account) -> list[str]:
    """Acknowledged invitations whose mail was never sent; one whose worker died may have gone out twice."""
    folder, waiting = Path(site.service.environment["MAIL_DIR"]), set(account.acknowledged("invitation"))
    deadline = time.monotonic() + MAILS_WITHIN_S
    while waiting and time.monotonic() < deadline:
        waiting -= (
            {address for address in waiting if Mailbox(folder, address).mails()}
            if len(waiting) < 20
            else _addressed(folder)
        )
        time.sleep(0.5)
    return [f"the invitation of {address} was never mailed" for address in waiting]


def _addressed(folder: Path) -> set[str]:
    told = set()
    for file in folder.glob("*.eml"):
        head = file.read_text(errors="replace").partition("\n\n")[0]
        told |= {line[3:].strip().lower() for line in head.splitlines() if line.lower().startswith("to:")}
    return told
