"""Webhooks of tests, and saves that cause their messages."""

import secrets
from dataclasses import dataclass
from typing import Any

from flask import Flask

from app.database.transactions import reading_context
from app.extensions import drivers
from app.resources.outbound_webhook import delivery, jobs
from tests.support.doubles.webhook_receiver import WebhookReceiver
from tests.support.workspace import Workspace
from tests.support.world import Person


class Networks:
    """The setting of the application: two loopback addresses are permitted, others are not."""

    PERMITTED = "127.0.0.1/32,::1/128"


@dataclass(frozen=True)
class Hook:
    """A webhook with its receiver. `name` is the path of its URL."""

    me: Person
    receiver: WebhookReceiver
    name: str
    id: str
    secret: str

    @classmethod
    def create(cls, me: Person, org: str, receiver: WebhookReceiver, name: str, **body: Any) -> "Hook":
        """Create a webhook of an organization."""
        sent = {"url": f"{receiver.url}/{name}", "events": ["content.committed"]} | body
        made = me.post(f"/organization/{org}/webhooks", sent).ok(201)
        return cls(me, receiver, name, made["id"], made["secret"])

    @property
    def path(self) -> str:
        return f"/webhook/{self.id}"

    @property
    def received(self) -> list[Any]:
        return self.receiver.received(self.name)

    def shown(self) -> dict[str, Any]:
        return dict(self.me.get(self.path).ok())

    def deliveries(self, query: str = "") -> list[dict[str, Any]]:
        return list(self.me.get(f"{self.path}/deliveries{query}").ok())

    def states(self) -> list[str]:
        """Return the states of the deliveries, oldest first."""
        return [one["state"] for one in reversed(self.deliveries())]

    def run(self) -> None:
        """Deliver what is due, with the clock of this thread."""
        with reading_context(self.me.app):
            delivery.run(self.id, drivers.webhooks)


def save(space: Workspace, path: str | None = None) -> str:
    """Commit a page and return the commit."""
    name = path or f"content/{secrets.token_hex(6)}.md"
    file = {"path": name, "action": "create", "content": f"# {secrets.token_hex(6)}\n"}
    body = {"message": "Add a page", "base_sha": space.git.head("main"), "files": [file]}
    return str(space.me.post(f"/project-content/{space.project}/commit", body).ok(201)["commit_sha"])


def sweep(app: Flask) -> None:
    """Run the periodic job."""
    with reading_context(app):
        jobs.sweep()
