"""The scene of the console tests: an organization with its members, a project, and other users."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.core.permissions import Role
from app.extensions import db, keyring
from app.models.organization import Membership
from app.models.outbound_webhook import (
    WebhookDelivery,
    WebhookEndpoint,
    WebhookFormat,
    WebhookMessage,
    WebhookState,
)
from app.models.project import RepositoryImport
from app.resources.outbound_webhook import signing
from tests.resources.project_content.conftest import Site, make_site
from tests.support.world import Browser, Person, World


@dataclass
class ConsoleScene:
    """The callers by name, and the ids of the organization and project."""

    app: Flask
    people: dict[str, Browser]
    site: Site
    ids: dict[str, str]

    def send(self, caller: str, method: str, path: str, **more: Any) -> TestResponse:
        """Send a request to a path of the authorization data, a form without fields if it is a POST."""
        for name, value in self.ids.items():
            path = path.replace(f":{name}", value)
        client = self.people[caller].client
        if method == "POST":
            more = {"data": {"unused": "1"}} | more
        with self.app.app_context():
            return client.open(path, method=method, **more)


FILES = {
    "content/posts/first.md": b"---\ntitle: First post\ndate: 2026-05-27\ndraft: true\ntags: [a, b]\n---\nOne line.\n\nAnother line.\n",
    "content/posts/second.md": b"Second.\n",
    "data/menu.yaml": b"- Home\n",
    "static/picture.png": b"\x89PNG\r\n\x1a\n",
}


def paused_webhook(organization: str, project: str | None = None) -> tuple[str, str]:
    """Store a paused webhook with a waiting message, and return their ids. That of a project is a deploy hook."""
    row = WebhookEndpoint(
        organization_id=organization,
        project_id=project,
        format=WebhookFormat.EMPTY if project else WebhookFormat.STANDARD,
        events=[] if project else ["content.committed"],
        host="hooks.example.org",
        url_secret="",
        state=WebhookState.PAUSED,
    )
    message = WebhookMessage(
        organization_id=organization, project_id=project, type="webhook.test", body=b'{"type":"webhook.test"}'
    )
    db.session.add_all((row, message))
    db.session.flush()
    row.url_secret = signing.seal(keyring, row.id, signing.URL, "https://hooks.example.org/one")
    if project is None:
        row.signing_secret = signing.seal(keyring, row.id, signing.SIGNING, signing.new_secret())
    delivery = WebhookDelivery(message_id=message.id, endpoint_id=row.id)
    db.session.add(delivery)
    db.session.commit()
    return row.id, delivery.id


@pytest.fixture
def console(app: Flask, world: World) -> ConsoleScene:
    """Create a project with four files and eight callers."""
    site = make_site(world, FILES)
    owner = site.owner
    people: dict[str, Browser] = {"anonymous": Browser(app), "owner": owner}
    people["unverified"] = world.person(verified=False)
    people["platform_admin"] = world.person(admin=True)
    for name in ("nonmember", "editor", "admin", "owner_other"):
        people[name] = world.person()
    other: Any = people["owner_other"]
    assert isinstance(other, Person)
    other.new_organization()
    with app.app_context():
        for name in ("editor", "admin"):
            member: Any = people[name]
            db.session.add(Membership(organization_id=site.organization, user_id=member.id, role=Role(name)))
        started = RepositoryImport(
            organization_id=site.organization,
            user_id=owner.id,
            repository=f"{site.organization}/docs",
            project_name="Docs",
            url="https://docs.example.org/docs",
        )
        db.session.add(started)
        db.session.commit()
        import_id = started.id
        webhook_id, delivery_id = paused_webhook(site.organization)
        hook_id, _ = paused_webhook(site.organization, site.project)
    ids = {
        "org_id": site.organization,
        "project_id": site.project,
        "import_id": import_id,
        "webhook_id": webhook_id,
        "delivery_id": delivery_id,
        "hook_id": hook_id,
        "file": "content/posts/first.md",
        "folder": "content/posts",
        "unknown": "unknown",
        "name": Path("console.css").name,
        "session_id": "ses_1",
        "key": "x",
    }
    return ConsoleScene(app, people, site, ids)
