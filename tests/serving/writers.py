"""Clients that save and publish pages of one project, and a comparison of their responses with the project log.

Each change has another path, so that its response can be compared with the branch.
"""

import re
import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import requests
import sqlalchemy as sa

from app.extensions import db
from app.models.project_log import LogAction, ProjectLogEntry
from tests.git_http.client import Site
from tests.support.world import Person

SETTLED_WITHIN_S, REQUEST_S = 300, 60
ACCEPTED = frozenset({200, 201, 202})
REFUSED = frozenset({409, 429, 503, 504})
"""Statuses after which Git must not contain the change."""


@dataclass
class Ledger:
    """The responses of all clients."""

    statuses: Counter[str] = field(default_factory=Counter)
    people: dict[str, str] = field(default_factory=dict)
    """Path → user whose change was accepted."""
    refused: set[str] = field(default_factory=set)
    unavailable: set[str] = field(default_factory=set)
    """The ids of the requests whose status was 503."""
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, path: str, user_id: str, response: requests.Response) -> bool:
        """Record a response about a path. Return whether the change was accepted."""
        is_accepted, status = response.status_code in ACCEPTED, response.status_code
        with self.lock:
            self.statuses[f"{kind} {status}"] += 1
            if is_accepted:
                self.people[path] = user_id
            elif status in REFUSED:
                self.refused.add(path)
            else:
                self.wrong.append(f"{kind} {status}: {response.text[:300]}")
            if status == 503:
                self.unavailable.add(response.headers["X-Request-Id"])
        return is_accepted

    def note_push(self, path: str, user_id: str, *, is_accepted: bool) -> None:
        """Record the result of a push of a path. A refused commit can be part of a later push."""
        with self.lock:
            self.statuses["push ok" if is_accepted else "push refused"] += 1
            if is_accepted:
                self.people[path] = user_id


class Writers:
    """The clients of a project."""

    def __init__(self, site: Site, ledger: Ledger) -> None:
        self.site, self.ledger, self._v1 = site, ledger, f"{site.service.url}/api/v1"

    def save(self, person: Person) -> bool:
        """Create a page on the working branch. Return whether it was accepted."""
        path, url = f"saved/{secrets.token_hex(6)}.md", f"{self._v1}/project-content/{self.site.project}/commit"
        body = {"message": f"Save {path}", "base_sha": self.site.repo.head(), "files": [created(path)]}
        with self.site.service.client(person) as client:
            return self.ledger.note("save", path, person.id, client.post(url, json=body, timeout=REQUEST_S))

    def new_set(self, person: Person) -> tuple[str, str] | None:
        """Create a set with a new page. Return its address and the path of the page, or None if it was refused."""
        path, sets = f"published/{secrets.token_hex(6)}.md", f"{self._v1}/project/{self.site.project}/change-sets"
        with self.site.service.client(person) as client:
            made = client.post(sets, json={"title": path}, timeout=REQUEST_S)
            if made.status_code != 201:
                self.ledger.note("set", path, person.id, made)
                return None
            row = made.json()["result"]
            url = f"{self._v1}/change-set/{row['id']}"
            body = {"message": "Write", "base_sha": row["head_sha"], "files": [created(path)]}
            written = client.post(f"{url}/commit", json=body, timeout=REQUEST_S)
        if not self.ledger.note("commit to set", path, person.id, written):
            return None
        with self.ledger.lock:
            del self.ledger.people[path]
        return url, path

    def publish(self, person: Person, url: str, path: str) -> bool:
        """Publish a set. Return whether it was accepted."""
        with self.site.service.client(person) as client:
            return self.ledger.note("publish", path, person.id, client.post(f"{url}/publish", timeout=REQUEST_S))


def created(path: str) -> dict[str, str]:
    return {"path": path, "action": "create", "content": f"---\ntitle: {path}\n---\nText\n"}


def unproved(ledger: Ledger, log: str) -> set[str]:
    """Return the requests with the status 503 for which no line of the log says that they had no effect."""
    refused = [line for line in log.splitlines() if "status=503" in line and "may_have_effect=False" in line]
    return ledger.unavailable - {name for line in refused for name in re.findall(r"request_id=(\w+)", line)}


def settled(site: Site, ledger: Ledger) -> set[str]:
    """Wait for the worker. Return the accepted paths for which the log does not name their person, or another one."""
    deadline, unnamed = time.monotonic() + SETTLED_WITHIN_S, set(ledger.people)
    while unnamed and time.monotonic() < deadline:
        time.sleep(1)
        people = dict[str, set[str]]()
        with site.world.app.app_context():
            # The pages that the pushes change again and again are hundreds of thousands of rows.
            statement = sa.select(ProjectLogEntry.file, ProjectLogEntry.user_id).where(
                ProjectLogEntry.project_id == site.project,
                ProjectLogEntry.user_id.is_not(None),
                ProjectLogEntry.action == LogAction.CREATE,
            )
            for path, user_id in db.session.execute(statement):
                people.setdefault(path, set()).add(user_id)
            db.session.rollback()
        unnamed = {path for path, user_id in ledger.people.items() if people.get(path) != {user_id}}
    return unnamed
