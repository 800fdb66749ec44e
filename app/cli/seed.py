"""`flask seed demo`: users, an organization and a site for a first try. A repeated run changes nothing."""

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import sqlalchemy as sa
from flask import current_app
from flask.cli import AppGroup

from app.cli.projects import host
from app.core.emails import email_key
from app.core.permissions import Role
from app.database import transactions
from app.drivers.git.errors import RepositoryExists
from app.drivers.git.port import RepositoryFacts
from app.extensions import db, drivers
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.models.user import User
from app.resources.organization import service as organizations
from app.resources.project import service as projects
from app.resources.project.repository_access import default_branch, detect_site, verify_access
from app.resources.user.events import email_verified
from app.security.passwords import hash_password, verify_password
from app.security.private_files import read_or_create
from config import Settings

SITE = Path(__file__).with_name("demo_site")
REPOSITORY = "demo/harbour-journal"
ORGANIZATION, PROJECT = "Harbour", "The Harbour Journal"
PEOPLE = {
    Role.OWNER: ("owner@demo.example.org", "Olive Owner"),
    Role.ADMIN: ("admin@demo.example.org", "Adam Admin"),
    Role.EDITOR: ("editor@demo.example.org", "Edith Editor"),
}


def steps(settings: Settings) -> Iterator[str]:
    """Yield the state of each Git host: configured, or the steps of its registration and the variables to set."""
    web, base = settings.server.web_url.rstrip("/"), settings.server.base_url.rstrip("/")
    yield "Local repositories need no registration. Registration at Git hosts (docs/git-hosts.md describes each step):"
    a, b = settings.github, settings.gitlab
    variables = {
        "GITHUB_APP_ID": a.app_id,
        "GITHUB_APP_SLUG": a.app_slug,
        "GITHUB_APP_CLIENT_ID": a.client_id,
        "GITHUB_APP_CLIENT_SECRET": a.client_secret,
        "GITHUB_APP_PRIVATE_KEY": a.private_key,
        "GITHUB_WEBHOOK_SECRET": a.webhook_secrets,
    }
    yield from _host(
        "GitHub",
        variables,
        [
            f"1. {a.url}/settings/apps/new: create a GitHub App",
            f'2. callback URL {web}/connect/provider_a; select "Expire user authorization tokens" and',
            '   "Request user authorization (OAuth) during installation"',
            f"3. webhook URL {base}/api/webhooks/provider_a, with a long random secret; event: Push",
            "4. repository permissions: Contents and Pull requests, both read and write",
            "5. create a client secret and a private key",
        ],
    )
    variables = {
        "GITLAB_CLIENT_ID": b.client_id,
        "GITLAB_CLIENT_SECRET": b.client_secret,
        "GITLAB_WEBHOOK_SECRET": b.webhook_secrets,
    }
    yield from _host(
        "GitLab",
        variables,
        [
            f"1. {b.url}/-/user_settings/applications: create a confidential application with the scope api",
            f"2. redirect URI {web}/connect/provider_b",
            f"3. webhook of a project or group: URL {base}/api/webhooks/provider_b, a secret token, Push events",
        ],
    )


def _host(name: str, variables: Mapping[str, object], registration: list[str]) -> Iterator[str]:
    missing = [variable for variable, value in variables.items() if not value]
    if not missing:
        yield f"  {name} is configured."
        return
    yield f"  {name}"
    yield from (f"    {line}" for line in [*registration, f"then set {', '.join(missing)}"])


seed = AppGroup("seed", help="Demo data.")


@seed.command("demo")
def demo() -> None:
    """Create an organization with an owner, an admin, an editor and a project.

    Print the sign-ins and the steps for Git hosts.
    """
    settings: Settings = current_app.config["SETTINGS"]
    password = read_or_create(
        settings.server.instance_dir / "demo_password", lambda: f"Harbour-{secrets.token_urlsafe(9)}"
    )
    repository = _repository()
    with transactions.write_transaction():
        people = {role: _person(*PEOPLE[role], password) for role in PEOPLE}
        organization = _organization(people, settings)
    _project(organization, repository, people[Role.OWNER], settings)
    for line in _sign_ins(people, password):
        click.echo(line)
    # stderr: `make run` stores stdout, and these lines depend on the settings.
    for line in steps(settings):
        click.echo(line, err=True)


def _sign_ins(people: dict[Role, User], password: str) -> Iterator[str]:
    """Yield the sign-ins. Accounts of a restored or older database have other passwords, which are not known."""
    if not all(verify_password(user.password_hash, password) for user in people.values()):
        yield "The demo accounts exist and keep their passwords. `flask user reset-password EMAIL` sets a new one:"
        yield from (f"  {role:<7} {user.email}" for role, user in people.items())
        return
    yield "Sign in to the demo:"
    yield from (f"  {role:<7} {user.email:<24} {password}" for role, user in people.items())


def _person(address: str, name: str, password: str) -> User:
    existing = db.session.scalar(sa.select(User).where(User.email_key == email_key(address)))
    if existing is not None:
        return existing
    user = User(email=address, email_key=email_key(address), name=name, email_verified=True)
    user.password_hash = hash_password(password)
    db.session.add(user)
    db.session.flush()
    email_verified.publish(user)
    return user


def _organization(people: dict[Role, User], settings: Settings) -> Organization:
    owner = people[Role.OWNER]
    existing = db.session.scalar(
        sa.select(Organization).where(Organization.owner_id == owner.id, Organization.name == ORGANIZATION)
    )
    organization = existing or organizations.create(
        ORGANIZATION, image=None, settings={}, by=owner, limit=settings.limits.organizations
    )
    for role, user in people.items():
        if db.session.get(Membership, (organization.id, user.id)) is None:
            db.session.add(Membership(organization_id=organization.id, user_id=user.id, role=role))
    db.session.flush()
    return organization


def _repository() -> RepositoryFacts:
    try:
        return host().create(REPOSITORY, source=SITE)
    except RepositoryExists:
        return host().open(REPOSITORY).facts()


def _project(organization: Organization, repository: RepositoryFacts, owner: User, settings: Settings) -> None:
    existing = sa.select(Project.id).where(Project.organization_id == organization.id, Project.name == PROJECT)
    if db.session.scalar(existing) is not None:
        return
    access = verify_access(default_branch(repository), organization.id, hosts=drivers.git, user=owner)
    kind = detect_site(access, framework=None, generator=None)
    values = {
        "name": PROJECT,
        "generator": kind.generator,
        "framework": kind.framework,
        "paths": {"content": "content", "media": "static", "public": "public"},
    }
    with transactions.write_transaction():
        projects.create(organization, values, access, by=owner, limits=settings.limits)
