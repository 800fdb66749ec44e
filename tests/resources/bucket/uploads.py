"""Helpers of the media tests: uploads, downloads, and an organization with its members and a project."""

import secrets
from typing import Any

from flask import Flask

from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Membership, Organization
from app.models.project import Project, Provider
from tests.support.samples.pictures import picture
from tests.support.world import Answer, Browser, Person, World


def form(content: bytes, *, name: str = "file", **fields: str) -> dict[str, Any]:
    """Return the arguments of a multipart request as a browser sends it."""
    parts = [f'Content-Disposition: form-data; name="{key}"\r\n\r\n{value}'.encode() for key, value in fields.items()]
    head = f'Content-Disposition: form-data; name="{name}"; filename="../../été.png"\r\nContent-Type: image/png\r\n\r\n'
    body = b"".join(b"--limit\r\n" + part + b"\r\n" for part in [*parts, head.encode() + content])
    return {"data": body + b"--limit--\r\n", "content_type": "multipart/form-data; boundary=limit"}


def upload(person: Browser, content: bytes | None = None, **fields: str) -> Answer:
    """Upload a picture as a browser does."""
    return person.call("POST", "/bucket/upload", **form(picture() if content is None else content, **fields))


def served(person: Browser, asset: dict[str, Any], **kwargs: Any) -> Answer:
    """Fetch an asset by its URL."""
    return person.get(f"/media/{asset['key']}", **kwargs)


class OrganizationTeam:
    """An organization with an owner, an admin and an editor, and a project in it."""

    def __init__(self, app: Flask, world: World) -> None:
        self.owner, self.admin, self.editor = (world.person() for _ in range(3))
        with app.app_context():
            organization = Organization(name=f"Org {secrets.token_hex(4)}", owner_id=self.owner.id)
            db.session.add(organization)
            db.session.flush()
            for person, role in ((self.owner, Role.OWNER), (self.admin, Role.ADMIN), (self.editor, Role.EDITOR)):
                db.session.add(Membership(organization_id=organization.id, user_id=person.id, role=role))
            project = Project(organization_id=organization.id, name="Site", provider=Provider.LOCAL)
            db.session.add(project)
            db.session.commit()
            self.org_id, self.project_id = organization.id, project.id

    def people(self) -> tuple[Person, Person, Person]:
        return self.owner, self.admin, self.editor
