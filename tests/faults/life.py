"""People who go on working while something fails, what they were told, and what must hold afterwards.

The invariants are those of every fault: an acknowledged write is readable; an unacknowledged one is all there or not at
all; one owner an organization; counts within limits; branch history only grows; no secret in a log; no 500, and every
502, 503 and 504 says when to come again.
"""

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import requests
import sqlalchemy as sa

from app.extensions import db
from app.models.organization import Membership, Organization
from tests import factories
from tests.fuzz.witness import organizations_without_one_owner
from tests.servers.service import Service
from tests.world import Person, World

PATIENCE_S = 40
BUSY = frozenset({502, 503, 504})


class Played(Protocol):
    """A plant that life goes on in."""

    service: Service

    @property
    def world(self) -> World:
        """The database, past anything that fails."""

    def told(self) -> str:
        """All that it has logged."""

    def secrets(self) -> list[str]:
        """What must never be logged."""


@dataclass
class Told:
    """One answer; status 0 for none at all."""

    what: str
    status: int
    result: Any
    took_s: float
    code: str | None = None
    retry_after_s: int | None = None


@dataclass
class Life:
    """An owner with a project, and strangers who make organizations; all over the wire."""

    plant: Played
    organizations: dict[str, tuple[Person, str | None]] = field(default_factory=dict)
    """Names that were asked for: by whom, and the id where it was acknowledged."""
    themes: dict[str, tuple[Person, set[str]]] = field(default_factory=dict)
    """By user: what the theme may be: the acknowledged one, and those whose answer was lost since."""
    commits: dict[str, str | None] = field(default_factory=dict)
    """Paths that were to be created, and the acknowledged commit."""
    broken: list[str] = field(default_factory=list)
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        world = self.plant.world
        self.owner = world.person()
        name, self.repository = factories.repository(world, {"a.md": b"a\n"})
        self.project = factories.project(world, self.owner, factories.organization(world, self.owner), name)
        self.history = self.repository.commits()

    def ask(self, who: Person | None, method: str, path: str, **given: Any) -> Told:
        """Send a request on a connection of its own; note what no answer may be."""
        client = requests.Session() if who is None else self.plant.service.client(who)
        client.trust_env = False
        started, what = time.monotonic(), f"{method} {path}"
        base = self.plant.service.url + ("" if path == "/healthz" else "/api/v1")
        try:
            answer = client.request(method, base + path, timeout=self.patience_s, **given)
        except requests.RequestException as error:
            cause = error.args[0] if error.args else error
            return Told(f"{what} ({type(cause).__name__})", 0, None, time.monotonic() - started)
        finally:
            client.close()
        took_s = time.monotonic() - started
        if answer.status_code >= 500 and answer.status_code not in BUSY:
            self.broken.append(f"{what} answered {answer.status_code}: {answer.text[:200]}")
        if answer.status_code in BUSY and "Retry-After" not in answer.headers:
            self.broken.append(f"{what} answered {answer.status_code} without Retry-After")
        told = answer.json() if "json" in answer.headers.get("Content-Type", "") else {}
        wait = answer.headers.get("Retry-After")
        waiting = int(wait) if wait else None
        return Told(what, answer.status_code, told.get("result", told), took_s, told.get("code"), waiting)

    def people(self, count: int = 2) -> list[Person]:
        """Strangers; made before anything fails."""
        return [self.plant.world.person() for _ in range(count)]

    def reads(self, who: Person) -> Told:
        """Somebody looks who they are."""
        return self.ask(who, "GET", "/auth/get-session")

    def writes(self, who: Person) -> Iterator[Told]:
        """Somebody makes an organization and sets a preference; the owner saves a file."""
        name = f"Org {secrets.token_hex(8)}"
        self.organizations[name] = (who, None)
        made = self.ask(who, "POST", "/organization", json={"org_name": name})
        if made.status == 201:
            self.organizations[name] = (who, made.result["org_id"])
        yield made
        yield self._set_theme(who)
        yield self.save()

    def check_health(self) -> None:
        """The process answers, whatever fails."""
        answer = self.ask(None, "GET", "/healthz")
        if answer.status != 200:
            self.broken.append(f"/healthz answered {answer.status}")

    def check(self) -> list[str]:
        """Everything that does not hold."""
        app = self.plant.world.app
        with app.app_context():
            self._check_organizations()
            db.session.rollback()
        for user, (who, allowed) in self.themes.items():
            found = self.ask(who, "GET", f"/user-preference/{user}")
            if found.status != 200 or found.result["theme"] not in allowed:
                self.broken.append(f"a preference is {found.status} {found.result}, expected one of {allowed}")
        for org_id in organizations_without_one_owner(app):
            self.broken.append(f"{org_id} has not exactly one owner")
        self._check_history()
        told = self.plant.told()
        words = [*self.plant.secrets(), *(who.token for who, _ in self.organizations.values()), self.owner.token]
        self.broken += [f"a secret stands in the log: {word[:6]}…" for word in words if word in told]
        return self.broken

    def _set_theme(self, who: Person) -> Told:
        theme = secrets.choice(("light", "dark", "system"))
        _, allowed = self.themes.setdefault(who.id, (who, {"system"}))
        answer = self.ask(who, "PATCH", f"/user-preference/theme/{who.id}", json={"theme": theme})
        if answer.status == 200:
            allowed.clear()
        allowed.add(theme)
        return answer

    def save(self) -> Told:
        """The owner saves a new file."""
        path = f"saved/{secrets.token_hex(6)}.md"
        self.commits[path] = None
        body = {
            "message": f"Save {path}",
            "base_sha": self.repository.head(),
            "files": [{"path": path, "action": "create", "content": f"{path}\n"}],
        }
        answer = self.ask(self.owner, "POST", f"/project-content/{self.project}/commit", json=body)
        if answer.status == 201:
            self.commits[path] = answer.result["commit_sha"]
        return answer

    def _check_organizations(self) -> None:
        limit = self.plant.world.app.config["SETTINGS"].limits.organizations
        for name, (who, org_id) in self.organizations.items():
            rows = list(db.session.scalars(sa.select(Organization).where(Organization.name == name)))
            owners = [list(db.session.scalars(sa.select(Membership).filter_by(organization_id=row.id))) for row in rows]
            if org_id is not None and [row.id for row in rows] != [org_id]:
                self.broken.append(f"an acknowledged organization is there {len(rows)} times")
            if len(rows) > 1 or any([member.user_id for member in members] != [who.id] for members in owners):
                self.broken.append("an unacknowledged organization is half there or doubled")
            owned = sa.select(sa.func.count()).select_from(Organization).where(Organization.owner_id == who.id)
            if (db.session.scalar(owned) or 0) > limit:
                self.broken.append("somebody owns more organizations than the limit")

    def _check_history(self) -> None:
        self.repository.check()
        commits = self.repository.commits()
        if commits[-len(self.history) :] != self.history:
            self.broken.append("the branch has lost history")
        self.history = commits
        subjects = self.repository.text("log", "--format=%s", "main").splitlines()
        if len(subjects) != len(set(subjects)):
            self.broken.append("a save is there twice")
        for path, sha in self.commits.items():
            if sha is not None and sha not in commits:
                self.broken.append(f"the acknowledged save of {path} is lost")
