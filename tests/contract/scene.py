"""Scene of the authorization table: organization O with its members, project P, and other users.

The scene is written directly to the database: a cell that changes its scene receives a new one.
"""

import secrets
import shutil
from datetime import timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from flask import Flask

from app.core.api_tokens import TokenScope
from app.core.limits import WebhookLimits
from app.core.permissions import Access, Role
from app.core.urls import parse_http_url
from app.extensions import db, keyring
from app.models.base import utcnow_ms
from app.models.login import ApiToken, CodePurpose, OneTimeCode
from app.models.media import MediaAsset
from app.models.organization import Membership, MembershipProject, Organization
from app.models.outbound_webhook import DeliveryState, WebhookAttempt, WebhookDelivery, WebhookFormat
from app.models.project import LocalRepository, Project, Provider
from app.models.sandbox import ProjectPreview
from app.models.user import User
from app.resources.auth.one_time_codes import hash_of
from app.resources.bucket.storage_keys import new_key
from app.resources.outbound_webhook.service import Destination, send_test
from app.resources.outbound_webhook.service import create as create_webhook
from app.resources.project.events import project_connected
from app.security.passwords import hash_password
from app.security.secrets import hash_token, new_api_token, new_token
from tests.contract.outside import Outside
from tests.contract.specification import CALLERS
from tests.support.applications import FAST_HASHES
from tests.support.samples.gitrepo import GitRepo
from tests.support.samples.sites import SMALL
from tests.support.world import Browser, Person, sign_in

URL = "https://hooks.harbour.example.org/galley"
PASSWORD, CODE = "Quiet-Harbour-Table", "246810"


@cache
def hashed() -> str:
    """Return the password hash of all users, computed once."""
    return hash_password(PASSWORD, limits=FAST_HASHES)


def template(folder: Path) -> Path:
    """Create a bare repository as a template for copies."""
    GitRepo(folder, SMALL)
    return folder


class StoredToken(NamedTuple):
    """The id and the secret of an API token."""

    id: str
    secret: str


class Scene:
    """The callers by their names in the table, and the ids of their requests."""

    def __init__(self, app: Flask, source: Path) -> None:
        self.app, self._source, self.served_key = app, source, ""
        self.outside: Outside = app.extensions["outside"]
        with app.app_context():
            self.people = {name: self._person(name) for name in (*CALLERS[1:], "extra")}
            self.owner, self.extra = self.people["owner"], self.people["extra"]
            members = {name: Role(name) for name in ("owner", "admin", "editor")}
            self.org = self._organization(
                "owner", {self.people[name]: role for name, role in members.items()} | {self.extra: Role.EDITOR}
            )
            self.org2 = self._organization("owner", {self.owner: Role.OWNER})
            self.other = self.people["owner_other"]
            self.org_other = self._organization("owner_other", {self.other: Role.OWNER})
            self.project, self.repository = self._project(self.owner, self.org)
            self.project_other, _ = self._project(self.other, self.org_other)
            db.session.commit()
        self.repo = GitRepo.existing(self._folder(self.repository))
        self.head = self.repo.head("main")

    def caller(self, name: str) -> Browser:
        """Return a new browser of the caller."""
        if name.startswith("limited") and name not in self.people:
            self.people[name] = self._limited(name)
        return Browser(self.app) if name == "anonymous" else self.people[name].again()

    def _limited(self, name: str) -> Person:
        """Create an editor of O who sees only P and the project on GitHub, or only a third project."""
        projects = [self.project, self.remote_project]
        with self.app.app_context():
            person = self._person(name)
            if name == "limited_elsewhere":
                third = Project(organization_id=self.org, name=secrets.token_hex(6), provider=Provider.LOCAL)
                db.session.add(third)
                db.session.flush()
                projects = [third.id]
            role = Role.EDITOR if name == "limited_editor" else Role.ADMIN
            limits = {"organization_id": self.org, "user_id": person.id}
            db.session.add(Membership(**limits, role=Role.EDITOR, access=Access.PROJECTS))
            db.session.flush()
            db.session.add_all(MembershipProject(**limits, project_id=project, role=role) for project in projects)
            db.session.commit()
            return person

    def double(self, name: str) -> Browser:
        """Create a second user with the same rights, for requests that end sessions."""
        if name == "anonymous":
            return Browser(self.app)
        with self.app.app_context():
            person = self._person(name)
            db.session.commit()
            return person

    def newcomer(self, purpose: CodePurpose) -> tuple[str, str]:
        """Create an account and return its e-mail with a valid code or reset token of that purpose."""
        with self.app.app_context():
            user = self._user("unverified" if purpose == CodePurpose.VERIFY_EMAIL else "nonmember")
            token, row = new_token(), OneTimeCode(email_key=user.email_key, purpose=purpose, user_id=user.id)
            row.expires_at = utcnow_ms() + timedelta(minutes=5)
            db.session.add(row)
            db.session.flush()
            given = CODE if purpose == CodePurpose.VERIFY_EMAIL else token
            row.code_hash = hash_of(CODE, row.id) if purpose == CodePurpose.VERIFY_EMAIL else hash_token(token)
            db.session.commit()
            return user.email, given

    @cached_property
    def remote_project(self) -> str:
        """Create a project of O on GitHub that uses the app installation, and return its id."""
        repository = self.outside.on_github
        with self.app.app_context():
            made = Project(
                organization_id=self.org,
                name=f"Project {secrets.token_hex(6)}",
                provider=Provider.GITHUB,
                repository=repository.name,
                branch="main",
                installation_id=repository.installation,
            )
            db.session.add(made)
            db.session.commit()
            return made.id

    def may_connect(self, who: Browser) -> bool:
        """Return whether the caller can connect an account of a Git host: a verified session is required."""
        return isinstance(who, Person) and who.id != self.people["unverified"].id

    def token(
        self,
        *scopes: TokenScope,
        of: str = "owner",
        projects: list[str] | None = None,
        organization: str | None = None,
        days: float = 1,
        revoked: bool = False,
    ) -> StoredToken:
        """Create an API token of a caller, or a service account of an organization."""
        secret, now = new_api_token(), utcnow_ms()
        row = ApiToken(
            user_id=self.people[of].id,
            organization_id=organization,
            name="Deploy",
            scopes=[str(scope) for scope in scopes],
            projects=projects,
            token_hash=hash_token(secret),
            token_hint=secret[-4:],
            issued_at=now,
            expires_at=now + timedelta(days=days),
            revoked_at=now if revoked else None,
        )
        with self.app.app_context():
            db.session.add(row)
            db.session.commit()
            return StoredToken(row.id, secret)

    def webhook(self) -> tuple[str, str]:
        """Create a webhook of O with a failed delivery, and return the ids of both."""
        with self.app.app_context():
            destination = Destination(URL, parse_http_url(URL))  # type: ignore[arg-type]
            made = create_webhook(
                db.session.get_one(Organization, self.org),
                destination,
                endpoint_format=WebhookFormat.STANDARD,
                events=["content.committed"],
                project_id=None,
                description="",
                ring=keyring,
                limits=WebhookLimits(endpoints=10_000),
            )
            delivery_id = send_test(made.row)
            delivery = db.session.get_one(WebhookDelivery, delivery_id)
            delivery.state, delivery.attempts = DeliveryState.FAILED, 1
            db.session.add(
                WebhookAttempt(
                    delivery_id=delivery_id, status=500, duration_ms=12, response="An internal error occurred"
                )
            )
            db.session.commit()
            return made.row.id, delivery_id

    def asset(self, owner: str = "owner") -> str:
        """Create a cover of O or of the other organization, and return its key."""
        with self.app.app_context():
            key = new_key("orgs", "0" * 64, "png")
            db.session.add(
                MediaAsset(
                    key=key,
                    uploader_id=self.people[owner].id,
                    organization_id=self.org if owner == "owner" else self.org_other,
                    mimetype="image/png",
                    size=1,
                    width=1,
                    height=1,
                    hash="0" * 64,
                    stored_at=utcnow_ms(),
                )
            )
            db.session.commit()
            return key

    def _person(self, name: str) -> Person:
        return sign_in(self.app, self._user(name))

    def _user(self, name: str) -> User:
        address = f"{name.replace('_', '-')}-{secrets.token_hex(6)}@mail.example.org"
        user = User(
            email=address,
            email_key=address,
            email_verified=name != "unverified",
            name=name,
            is_admin=name == "platform_admin",
            password_hash=hashed(),
        )
        db.session.add(user)
        db.session.flush()
        return user

    def _organization(self, owner: str, members: dict[Person, Role]) -> str:
        made = Organization(name=f"Org {secrets.token_hex(6)}", owner_id=self.people[owner].id)
        db.session.add(made)
        db.session.flush()
        for person, role in members.items():
            db.session.add(Membership(organization_id=made.id, user_id=person.id, role=role))
        return made.id

    def _project(self, owner: Person, org_id: str) -> tuple[str, str]:
        name = f"acme/r{secrets.token_hex(6)}"
        shutil.copytree(self._source, self._folder(name))
        made = Project(
            organization_id=org_id,
            creator_id=owner.id,
            name=f"Project {secrets.token_hex(6)}",
            provider=Provider.LOCAL,
            repository=name,
            branch="main",
            connected_by=owner.id,
        )
        db.session.add_all([LocalRepository(name=name, organization_id=org_id), made])
        db.session.flush()
        db.session.add(ProjectPreview(project_id=made.id))
        project_connected.publish(made)
        return made.id, name

    def _folder(self, name: str) -> Path:
        root: Path = self.app.config["SETTINGS"].git.local_root
        return root / f"{name}.git"
