"""Fixtures of the tests of change sets: a project with members of each role, and the calls of its sets."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from app.core import clock
from app.core.jobs import registry
from app.core.permissions import Role
from app.drivers.jobs.port import JobRun
from app.extensions import db
from app.models.change_set import ChangeSetSchedule, Notice
from app.resources.change_set.notices import BUNDLED_FOR
from app.resources.change_set.schedule import FORM
from app.worker import JobRunner
from tests.support import factories
from tests.support.assertions.mailbox import Mailbox
from tests.support.git_hosts import Hosts, connect_github, connect_gitlab, login_of
from tests.support.samples.gitrepo import Content, GitRepo
from tests.support.world import Answer, Person, World

PAGE, OTHER = "content/posts/hello.md", "content/about.md"
TEXT = "---\ntitle: Hello\ntags: [a, b]\n---\n\nFirst words.\n\nSecond words.\n"
DUE_IN_MINUTES = 5
FILES: dict[str, Content] = {"hugo.toml": b'title = "Small"\n', PAGE: TEXT.encode(), OTHER: b"# About\n\nUs.\n"}

on_all_hosts = pytest.mark.parametrize("provider", ["local", "github", "gitlab"])


def update(path: str, content: str, **more: Any) -> dict[str, Any]:
    return {"path": path, "action": "update", "content": content} | more


@dataclass
class Team:
    """A project with its own repository, an owner, an admin, two editors and a user who is no member."""

    world: World
    owner: Person
    admin: Person
    editor: Person
    reviewer: Person
    stranger: Person
    organization: str
    project: str
    repo: GitRepo

    @property
    def sets(self) -> str:
        return f"/project/{self.project}/change-sets"

    def new(self, title: str = "New words", *, by: Person | None = None, **more: Any) -> dict[str, Any]:
        """Create a set as the editor."""
        return (by or self.editor).post(self.sets, {"title": title} | more).ok(201)

    def commit(
        self, change_set: dict[str, Any], *files: dict[str, Any], by: Person | None = None, **more: Any
    ) -> Answer:
        """Commit files to a set on its present head."""
        body = {"message": "Edit", "files": list(files)} | more
        body.setdefault("base_sha", change_set["base_sha"] if more else self.repo.head(change_set["branch"]))
        return (by or self.editor).again().post(f"/change-set/{change_set['id']}/commit", body)

    def call(self, change_set: dict[str, Any], step: str, body: Any = None, *, by: Person | None = None) -> Answer:
        """Send a step of a set as the editor."""
        return (by or self.editor).again().post(f"/change-set/{change_set['id']}/{step}", body)

    def put_schedule(self, change_set: dict[str, Any], body: dict[str, Any], *, by: Person | None = None) -> Answer:
        """Schedule a set as the editor."""
        return (by or self.editor).again().put(f"/change-set/{change_set['id']}/schedule", body)

    def schedule(
        self, change_set: dict[str, Any], action: str = "publish", *, by: Person | None = None
    ) -> dict[str, Any]:
        """Schedule a set for a time that `run_due` reaches."""
        due = clock.now() + timedelta(minutes=DUE_IN_MINUTES)
        body = {"wall_time": due.strftime(FORM), "timezone": "UTC", "action": action}
        return self.put_schedule(change_set, body, by=by).ok()

    def read(self, change_set: dict[str, Any]) -> dict[str, Any]:
        return self.owner.again().get(f"/change-set/{change_set['id']}").ok()

    def edited(self, title: str = "New words", text: str = TEXT.replace("First", "New")) -> dict[str, Any]:
        """Create a set with one changed page."""
        made = self.new(title)
        self.commit(made, update(PAGE, text)).ok(201)
        return self.read(made)

    def approved(self, title: str = "New words", text: str = TEXT.replace("First", "New")) -> dict[str, Any]:
        """Create a set with one changed page that a second editor approved."""
        made = self.edited(title, text)
        self.call(made, "submit").ok()
        return self.call(made, "reviews", {"verdict": "approve"}, by=self.reviewer).ok(201)["change_set"]

    def published(self, title: str = "New words", text: str = TEXT.replace("First", "New")) -> dict[str, Any]:
        return self.call(self.approved(title, text), "publish").ok()

    def configure(self, **settings: Any) -> None:
        self.owner.again().patch(f"/project/{self.project}", settings).ok()


def run_job(team: Team, name: str, **arguments: object) -> None:
    """Run a job in this thread as the worker does, with the clock of this thread."""
    JobRunner(team.world.app, registry, lambda *_: None)(JobRun("1", name, arguments, 1))


def run_due(team: Team, change_set: dict[str, Any]) -> None:
    """Run the scheduled publication of a set whose time is moved to the present."""
    come(team, change_set)
    run_job(team, "change_sets.publish_scheduled", change_set_id=change_set["id"])


def come(team: Team, *change_sets: dict[str, Any]) -> None:
    """Move the times of `Team.schedule` to the present minute."""
    due, ids = clock.now().replace(second=0, microsecond=0), [one["id"] for one in change_sets]
    soon = ChangeSetSchedule.due_at <= due + timedelta(minutes=DUE_IN_MINUTES + 1)
    with team.world.app.app_context():
        statement = sa.update(ChangeSetSchedule).where(ChangeSetSchedule.change_set_id.in_(ids), soon)
        db.session.execute(statement.values(wall_time=due.strftime(FORM), due_at=due))
        db.session.commit()


def age_notices(team: Team, by: timedelta = BUNDLED_FOR) -> None:
    """Move the creation of the notices without a mail to the past."""
    with team.world.app.app_context():
        for notice in db.session.scalars(sa.select(Notice).where(Notice.mailed_at.is_(None))):
            notice.created_at -= by
        db.session.commit()


def mails_of(team: Team, person: Person) -> list[str]:
    """Mail the notices and run the waiting jobs. Return the texts of the mails to a person."""
    age_notices(team)
    run_job(team, "change_sets.mail_notices")
    team.world.work_off()
    return Mailbox(team.world.app.config["SETTINGS"].mail.directory, person.email).texts()


def make_team(world: World, provider: str = "local", hosts: Hosts | None = None) -> Team:
    """Create a team. A provider other than `local` needs the doubles of the hosts. The owner has an account there."""
    owner, admin, editor, reviewer, stranger = (world.person() for _ in range(5))
    roles = (admin, Role.ADMIN), (editor, Role.EDITOR), (reviewer, Role.EDITOR)
    org = factories.organization(world, owner, *roles)
    if hosts is None:
        name, repo = factories.repository(world, FILES)
        project = factories.project(world, owner, org, name)
        return Team(world, owner, admin, editor, reviewer, stranger, org, project, repo)
    if provider == "github":
        on_github = hosts.on_github(login_of(owner), files=FILES)
        connect_github(owner, hosts, on_github.installation)
        name, repo = on_github.name, on_github.git
    else:
        on_gitlab = hosts.on_gitlab(login_of(owner), files=FILES)
        connect_gitlab(owner, hosts)
        name, repo = on_gitlab.name, on_gitlab.git
    project = owner.new_project(org, name, provider=provider)
    return Team(world, owner, admin, editor, reviewer, stranger, org, project, repo)


@pytest.fixture
def provider() -> str:
    """The Git host of the project. Tests with `on_all_hosts` replace it."""
    return "local"


@pytest.fixture
def team(world: World, provider: str, request: pytest.FixtureRequest) -> Team:
    hosts: Hosts | None = None if provider == "local" else request.getfixturevalue("hosts")
    return make_team(world, provider, hosts)
