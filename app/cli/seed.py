"""`flask seed demo`: people, an organization and a site to try the service with; running it again changes nothing."""

import secrets
from pathlib import Path

import click
import sqlalchemy as sa
from flask import current_app
from flask.cli import AppGroup

from app.cli import registering
from app.cli.git import host
from app.core.emails import email_key
from app.core.instance import kept
from app.core.passwords import hash_password
from app.core.permissions import Role
from app.drivers.git.port import RepoRef, RepositoryExists
from app.extensions import db, drivers
from app.models.organization import Membership, Organization
from app.models.project import Project, Provider
from app.models.user import User
from app.resources.organization import service as organizations
from app.resources.project import service as projects
from app.resources.project.connecting import Place, reach, recognise
from app.resources.user.events import email_verified
from config import Settings

SITE = Path(__file__).with_name("demo_site")
REPOSITORY, BRANCH = "demo/harbour-journal", "main"
ORGANIZATION, PROJECT = "Harbour", "The Harbour Journal"
PEOPLE = {
    Role.OWNER: ("owner@demo.example.org", "Olive Owner"),
    Role.ADMIN: ("admin@demo.example.org", "Adam Admin"),
    Role.EDITOR: ("editor@demo.example.org", "Edith Editor"),
}

seed = AppGroup("seed", help="Things to try the service with.")


@seed.command("demo")
def demo() -> None:
    """Make a demo organization with an owner, an admin, an editor and a project; print the sign-ins, and what Git hosts need."""
    settings: Settings = current_app.config["SETTINGS"]
    password = kept(settings.server.instance_dir / "demo_password", lambda: f"Harbour-{secrets.token_urlsafe(9)}")
    people = {role: _person(*PEOPLE[role], password) for role in PEOPLE}
    organization = _organization(people, settings)
    _repository()
    _project(organization, people[Role.OWNER], settings)
    db.session.commit()
    click.echo("Sign in to the demo with the password of its first seeding:")
    for role, (address, _) in PEOPLE.items():
        click.echo(f"  {role:<7} {address:<24} {password}")
    # Beside the sign-ins, not among them: `make run` keeps those, and these change with the settings.
    for line in registering.steps(settings):
        click.echo(line, err=True)


def _person(address: str, name: str, password: str) -> User:
    found = db.session.scalar(sa.select(User).where(User.email_key == email_key(address)))
    if found is not None:
        return found
    user = User(email=address, email_key=email_key(address), name=name, email_verified=True)
    user.password_hash = hash_password(password)
    db.session.add(user)
    db.session.flush()
    email_verified.announce(user)
    return user


def _organization(people: dict[Role, User], settings: Settings) -> Organization:
    owner = people[Role.OWNER]
    found = db.session.scalar(
        sa.select(Organization).where(Organization.owner_id == owner.id, Organization.name == ORGANIZATION)
    )
    organization = found or organizations.create(
        ORGANIZATION, image=None, settings={}, by=owner, limit=settings.limits.organizations
    )
    for role, user in people.items():
        if db.session.get(Membership, (organization.id, user.id)) is None:
            db.session.add(Membership(organization_id=organization.id, user_id=user.id, role=role))
    db.session.flush()
    return organization


def _repository() -> None:
    try:
        host().create(REPOSITORY, source=SITE)
    except RepositoryExists:
        host().repository(RepoRef(REPOSITORY))


def _project(organization: Organization, owner: User, settings: Settings) -> None:
    found = sa.select(Project.id).where(Project.organization_id == organization.id, Project.name == PROJECT)
    if db.session.scalar(found) is not None:
        return
    place = Place(Provider.LOCAL, REPOSITORY, None, BRANCH)
    reached = reach(place, organization.id, hosts=drivers["git"], actor=owner)
    kind = recognise(reached, framework=None, generator=None)
    values = {
        "name": PROJECT,
        "generator": kind.generator,
        "framework": kind.framework,
        "paths": {"content": "content", "media": "static", "public": "public"},
    }
    projects.create(organization, values, reached, by=owner, limits=settings.limits)
