"""Two nodes on one database, and a project of each host with an editor at each node."""

import base64
import dataclasses
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from flask import Flask

from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Membership
from app.models.project_log import ProjectLogEntry
from config import Settings
from tests.support.applications import application
from tests.support.databases import another_database
from tests.support.doubles.plumbing import Plumbing
from tests.support.doubles.server import Double
from tests.support.edit_pairs.pairs import Pairs, Site, initial_files
from tests.support.factories import repository
from tests.support.git_hosts import Hosts, connect_github, connect_gitlab, login_of, new_project
from tests.support.world import Person, World

PATIENCE_S = 4.0
"""How long these nodes wait for an answer."""


@dataclasses.dataclass(frozen=True)
class Nodes:
    """Two nodes that share only the database, and the hosts."""

    first: Flask
    second: Flask
    hosts: Hosts

    def site(self, kind: str, pairs: int) -> Site:
        """Create an indexed project. The owner uses the first node, an editor without a Git account uses the second."""
        world = World(self.first)
        owner, editor = world.person(), world.person()
        org = owner.new_organization()
        with self.first.app_context():
            db.session.add(Membership(organization_id=org, user_id=editor.id, role=Role.EDITOR))
            db.session.commit()
        git, name, host = self._repository(kind, owner, pairs)
        project = new_project(owner, org, kind, name)
        world.work_off(within_s=600)
        there = Person(self.second, editor.id, editor.email, editor.token)
        return Site((owner, there), project, git, host, kind)

    def check_index(self, pairs: Pairs) -> None:
        """Assert that the index equals the branch and that the log contains every acknowledged save."""
        site = pairs.site
        site.editors[0].post(f"/project-content/{site.project}/reindex", {}).ok(202)
        World(self.first).work_off(within_s=600)
        told = site.editors[0].get(f"/project-content/{site.project}").ok()["files"]
        there = {path: (mode, sha) for path, (_, mode, sha, _) in site.git.entries().items()}
        assert {file["path"]: (file["mode"], file["sha"]) for file in told} == there
        with self.first.app_context():
            entries = sa.select(ProjectLogEntry.commit_sha).where(ProjectLogEntry.project_id == site.project)
            logged = set(db.session.scalars(entries))
        saved = [save.answer.json["result"]["commit_sha"] for save in pairs.saves if save.answer.status == 201]
        assert set(saved) <= logged

    def _repository(self, kind: str, owner: Person, pairs: int) -> tuple[Plumbing, str, Double | None]:
        files = initial_files(pairs)
        if kind == "github":
            made = self.hosts.on_github(login_of(owner), files=files)
            connect_github(owner, self.hosts, made.installation)
            return made.git, made.name, self.hosts.github
        if kind == "gitlab":
            on_gitlab = self.hosts.on_gitlab(login_of(owner), files=files)
            connect_gitlab(owner, self.hosts)
            return on_gitlab.git, on_gitlab.name, self.hosts.gitlab
        name, repo = repository(World(self.first), files)
        return Plumbing.existing(repo.folder), name, None


@contextmanager
def nodes(store: str, home: Path) -> Iterator[Nodes]:
    """Run both nodes on an empty database."""
    hosts = Hosts(home / "hosts")
    hosts.github.hourly = hosts.gitlab.a_minute = 10_000_000
    shared = {
        "MAIL_DRIVER": "file",
        "MAIL_DIR": home / "mail",
        "RATE_LIMIT_SCALE": 100_000,
        "GIT_LOCAL_ROOT": home / "git",
        "GIT_BOT_NAME": "Galley Bot",
        "GIT_BOT_EMAIL": "bot@galley.example.org",
        "SECRET_KEY": secrets.token_hex(32),
        "ENCRYPTION_KEYS": f"k1:{base64.b64encode(secrets.token_bytes(32)).decode()}",
        **hosts.environment(),
    }
    try:
        with (
            another_database(store, home) as url,
            application(_with_short_timeouts(Settings.for_tests(home / "one", DATABASE_URL=url, **shared))) as first,
            application(_with_short_timeouts(Settings.for_tests(home / "two", DATABASE_URL=url, **shared))) as second,
        ):
            yield Nodes(first, second, hosts)
    finally:
        hosts.close()


def _with_short_timeouts(settings: Settings) -> Settings:
    outbound = dataclasses.replace(settings.limits.outbound, read_timeout_s=PATIENCE_S)
    return dataclasses.replace(settings, limits=dataclasses.replace(settings.limits, outbound=outbound))
