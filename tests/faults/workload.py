"""A workload of users during a fault, their replies, and the invariants afterwards.

An acknowledged write is readable, any other write is complete or absent. An organization has one owner. Counts stay within
their limits. The branch history only grows. No log contains a secret. No response is 500, and each 502, 503 and 504 has
a `Retry-After`.
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
from tests.fuzz.invariants import organizations_without_one_owner
from tests.support import factories
from tests.support.servers.service import Service
from tests.support.world import Person, World

TIMEOUT_S = 40
BUSY = frozenset({502, 503, 504})


class RunningService(Protocol):
    """A deployment on which a workload runs."""

    service: Service

    @property
    def world(self) -> World:
        """Return the database, which is reached without a fault proxy."""

    def log_text(self) -> str:
        """Return the complete log."""

    def secrets(self) -> list[str]:
        """Return the values that no log may contain."""


@dataclass
class Reply:
    """One reply. The status is 0 if there was no response."""

    what: str
    status: int
    result: Any
    took_s: float
    code: str | None = None
    retry_after_s: int | None = None


@dataclass
class Workload:
    """A workload of an owner with a project and of other users that create organizations, over HTTP."""

    deployment: RunningService
    organizations: dict[str, tuple[Person, str | None]] = field(default_factory=dict)
    """Requested names: the user, and the id if it was acknowledged."""
    themes: dict[str, tuple[Person, set[str]]] = field(default_factory=dict)
    """Permitted themes by user: the acknowledged one, and later ones without a response."""
    commits: dict[str, str | None] = field(default_factory=dict)
    """Requested paths and the acknowledged commits."""
    broken: list[str] = field(default_factory=list)
    timeout_s: float = TIMEOUT_S

    def __post_init__(self) -> None:
        world = self.deployment.world
        self.owner = world.person()
        name, self.repository = factories.repository(world, {"a.md": b"a\n"})
        self.project = factories.project(world, self.owner, factories.organization(world, self.owner), name)
        self.history = self.repository.commits()

    def ask(self, who: Person | None, method: str, path: str, **arguments: Any) -> Reply:
        """Send a request on a new connection. Record every response that violates an invariant."""
        client = requests.Session() if who is None else self.deployment.service.client(who)
        client.trust_env = False
        started, what = time.monotonic(), f"{method} {path}"
        base = self.deployment.service.url + ("" if path == "/healthz" else "/api/v1")
        try:
            answer = client.request(method, base + path, timeout=self.timeout_s, **arguments)
        except requests.RequestException as error:
            cause = error.args[0] if error.args else error
            return Reply(f"{what} ({type(cause).__name__})", 0, None, time.monotonic() - started)
        finally:
            client.close()
        took_s = time.monotonic() - started
        if answer.status_code >= 500 and answer.status_code not in BUSY:
            self.broken.append(f"{what} answered {answer.status_code}: {answer.text[:200]}")
        if answer.status_code in BUSY and "Retry-After" not in answer.headers:
            self.broken.append(f"{what} answered {answer.status_code} without Retry-After")
        values = answer.json() if "json" in answer.headers.get("Content-Type", "") else {}
        wait = answer.headers.get("Retry-After")
        waiting = int(wait) if wait else None
        return Reply(what, answer.status_code, values.get("result", values), took_s, values.get("code"), waiting)

    def create_users(self, count: int = 2) -> list[Person]:
        """Create users before the fault."""
        return [self.deployment.world.person() for _ in range(count)]

    def reads(self, who: Person) -> Reply:
        """Read the session of a user."""
        return self.ask(who, "GET", "/auth/get-session")

    def writes(self, who: Person) -> Iterator[Reply]:
        """Create an organization, set a preference, and save a file as the owner."""
        name = f"Org {secrets.token_hex(8)}"
        self.organizations[name] = (who, None)
        created = self.ask(who, "POST", "/organization", json={"org_name": name})
        if created.status == 201:
            self.organizations[name] = (who, created.result["org_id"])
        yield created
        yield self._set_theme(who)
        yield self.save()

    def check_health(self) -> None:
        """Check that the process responds during any fault."""
        answer = self.ask(None, "GET", "/healthz")
        if answer.status != 200:
            self.broken.append(f"/healthz answered {answer.status}")

    def check(self) -> list[str]:
        """Return all violations of the invariants."""
        app = self.deployment.world.app
        with app.app_context():
            self._check_organizations()
            db.session.rollback()
        for user, (who, allowed) in self.themes.items():
            result = self.ask(who, "GET", f"/user-preference/{user}")
            if result.status != 200 or result.result["theme"] not in allowed:
                self.broken.append(f"a preference is {result.status} {result.result}, expected one of {allowed}")
        for org_id in organizations_without_one_owner(app):
            self.broken.append(f"{org_id} has not exactly one owner")
        self._check_history()
        text = self.deployment.log_text()
        words = [*self.deployment.secrets(), *(who.token for who, _ in self.organizations.values()), self.owner.token]
        self.broken += [f"a secret stands in the log: {word[:6]}…" for word in words if word in text]
        return self.broken

    def _set_theme(self, who: Person) -> Reply:
        theme = secrets.choice(("light", "dark", "system"))
        _, allowed = self.themes.setdefault(who.id, (who, {"system"}))
        answer = self.ask(who, "PATCH", f"/user-preference/theme/{who.id}", json={"theme": theme})
        if answer.status == 200:
            allowed.clear()
        allowed.add(theme)
        return answer

    def save(self) -> Reply:
        """Save a new file as the owner."""
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
        limit = self.deployment.world.app.config["SETTINGS"].limits.organizations
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
