"""Random histories of organizations, members, invitations and projects, compared with a model of the contract.

`GALLEY_LONG=1` runs 1,500 histories of 50 steps on each database instead of 20 of 30.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck
from hypothesis import settings as how
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from app.extensions import db
from app.models.user import User
from app.resources.user.events import email_verified
from config import Settings
from tests.contract import model as limits
from tests.contract.model import Model
from tests.contract.scene import template
from tests.support.applications import application
from tests.support.databases import another_database
from tests.support.world import Answer, Person, World

LONG = bool(os.environ.get("GALLEY_LONG"))
HISTORIES, STEPS = (1500, 50) if LONG else (20, 30)
PEOPLE = st.integers(0, 3)
NAMES = st.sampled_from(["Alpha", "Beta", "Personal"])
ROLES = st.sampled_from(["admin", "editor"])
PICK = st.integers(0, 99)


@pytest.fixture
def small_limits_app(store: str, tmp_path: Path) -> Iterator[Flask]:
    """Build an application with small limits, so that histories reach them."""
    with another_database(store, tmp_path) as url:
        small = {
            "LIMIT_ORGANIZATIONS": limits.ORGANIZATIONS,
            "LIMIT_PROJECTS": limits.PROJECTS,
            "LIMIT_PROJECTS_PER_ORGANIZATION": limits.PER_ORGANIZATION,
            "LIMIT_MEMBERS": limits.MEMBERS,
        }
        quiet = {"DATABASE_URL": url, "MAIL_DRIVER": "file", "RATE_LIMIT_SCALE": 100_000}
        with application(Settings.for_tests(tmp_path, **quiet, **small)) as flask_app:
            yield flask_app


class Histories(RuleBasedStateMachine):
    """The rules of a history. Each rule calls the service and the model and compares the results."""

    app: Flask
    source: Path

    @initialize()
    def begin(self) -> None:
        world = World(self.app)
        self.people: list[Person] = [world.person(verified=number < 3) for number in range(4)]
        self.model, self.ids = Model({0, 1, 2}), {}

    def _compare(self, wanted: int, answer: Answer) -> Any:
        assert answer.status == wanted, (wanted, answer.status, answer.json)
        if wanted == 201:
            result = answer.json["result"]
            self.ids[self.model.made] = result.get("project_id") or result["org_id"]
        return answer.json.get("result")

    def _org(self, pick: int) -> int:
        return sorted(self.model.orgs)[pick % len(self.model.orgs)]

    def _project(self, pick: int) -> int:
        return sorted(self.model.projects)[pick % len(self.model.projects)]

    @rule(who=PEOPLE, name=NAMES)
    def create_org(self, who: int, name: str) -> None:
        self._compare(self.model.create_org(who, name), self.people[who].post("/organization", {"org_name": name}))

    @rule(who=PEOPLE)
    def ensure_default(self, who: int) -> None:
        before = self.model.made
        expected = self.model.ensure_default(who)
        result = self._compare(expected, self.people[who].post("/organization/ensure-default", {}))
        if self.model.made > before:
            self.ids[self.model.made] = result["org_id"]

    @precondition(lambda self: 3 not in self.model.verified)
    @rule()
    def verify(self) -> None:
        with self.app.app_context():
            user = db.session.get_one(User, self.people[3].id)
            user.email_verified = True
            email_verified.publish(user)
            db.session.commit()
        self.model.verify(3)
        mine = self.people[3].get("/organization/user").ok()
        self.ids[self.model.made] = next(one["org_id"] for one in mine if one["default"] and one["role"] == "owner")

    def _on_org(self, how_asked: Callable[..., int], who: int, pick: int, path: str, *words: Any, **body: Any) -> None:
        org = self._org(pick)
        person, method, path = self.people[who], *path.split(" ")
        self._compare(how_asked(who, org, *words), person.call(method, f"/organization{path}/{self.ids[org]}", body))

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK, name=NAMES)
    def rename_org(self, who: int, pick: int, name: str) -> None:
        self._on_org(self.model.rename_org, who, pick, "PATCH ", name, org_name=name)

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK, active=st.booleans())
    def set_org_status(self, who: int, pick: int, active: bool) -> None:
        status = "active" if active else "archived"
        self._on_org(self.model.set_org_status, who, pick, "PATCH /status", active, status=status)

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK)
    def delete_org(self, who: int, pick: int) -> None:
        self._on_org(self.model.delete_org, who, pick, "DELETE ")

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK, whom=PEOPLE, role=ROLES)
    def invite(self, who: int, pick: int, whom: int, role: str) -> None:
        email = self.people[whom].email
        self._on_org(self.model.invite, who, pick, "PATCH /member", whom, role, email=email, role=role)

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK, whom=PEOPLE, role=ROLES)
    def change_role(self, who: int, pick: int, whom: int, role: str) -> None:
        member = self.people[whom].id
        self._on_org(self.model.change_role, who, pick, "PATCH /update-role", whom, role, member_id=member, role=role)

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK, whom=PEOPLE)
    def remove(self, who: int, pick: int, whom: int) -> None:
        self._on_org(self.model.remove, who, pick, "PATCH /remove-member", whom, email=self.people[whom].email)

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK)
    def leave(self, who: int, pick: int) -> None:
        self._on_org(self.model.leave, who, pick, "PATCH /leave")

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK, whom=PEOPLE)
    def transfer(self, who: int, pick: int, whom: int) -> None:
        self._on_org(self.model.transfer, who, pick, "POST /transfer", whom, member_id=self.people[whom].id)

    @precondition(lambda self: self.model.orgs)
    @rule(who=PEOPLE, pick=PICK, name=NAMES)
    def create_project(self, who: int, pick: int, name: str) -> None:
        org, repo = self._org(pick), f"acme/s{os.urandom(6).hex()}"
        shutil.copytree(self.source, self.app.config["SETTINGS"].git.local_root / f"{repo}.git")
        body = {
            "org_id": self.ids[org],
            "project_name": name,
            "provider": "local",
            "repository": repo,
            "branch": "main",
        }
        self._compare(self.model.create_project(who, org, name), self.people[who].post("/project/create", body))

    def _on_project(
        self, how_asked: Callable[..., int], who: int, pick: int, path: str, *words: Any, **body: Any
    ) -> None:
        project = self._project(pick)
        person, method, path = self.people[who], *path.split(" ")
        expected = how_asked(who, project, *words)
        self._compare(expected, person.call(method, f"/project{path}/{self.ids[project]}", body))

    @precondition(lambda self: self.model.projects)
    @rule(who=PEOPLE, pick=PICK, name=NAMES)
    def rename_project(self, who: int, pick: int, name: str) -> None:
        self._on_project(self.model.rename_project, who, pick, "PATCH ", name, project_name=name)

    @precondition(lambda self: self.model.projects)
    @rule(who=PEOPLE, pick=PICK, active=st.booleans())
    def set_project_status(self, who: int, pick: int, active: bool) -> None:
        status = "active" if active else "archived"
        self._on_project(self.model.set_project_status, who, pick, "PATCH /status", active, status=status)

    @precondition(lambda self: self.model.projects)
    @rule(who=PEOPLE, pick=PICK, to=PICK)
    def move(self, who: int, pick: int, to: int) -> None:
        org = self._org(to)
        self._on_project(self.model.move, who, pick, f"PATCH /move/{self.ids[org]}", org)

    @precondition(lambda self: self.model.projects)
    @rule(who=PEOPLE, pick=PICK)
    def delete_project(self, who: int, pick: int) -> None:
        self._on_project(self.model.delete_project, who, pick, "DELETE ")

    @rule(who=PEOPLE)
    def compare_state(self, who: int) -> None:
        """Compare the data a user can read with the model."""
        if who in self.model.verified:
            seen = self.people[who].get("/organization/user").ok()
            assert {one["org_id"]: _summary(one) for one in seen} == self._expected(who)

    def _expected(self, who: int) -> dict[str, object]:
        return {
            self.ids[number]: (
                org.name,
                org.members[who],
                "active" if org.active else "archived",
                org.default,
                {self.people[person].email: (role, "active") for person, role in org.members.items()}
                | {self.people[person].email: (role, "invited") for person, role in org.invited.items()},
                sorted(one.name for one in self.model.projects.values() if one.org == number and one.active),
                sum(one.org == number for one in self.model.projects.values()),
            )
            for number, org in self.model.orgs.items()
            if who in org.members
        }

    def teardown(self) -> None:
        for who in range(len(getattr(self, "people", ()))):
            self.compare_state(who)


def _summary(one: dict[str, Any]) -> tuple[Any, ...]:
    members = {member["email"]: (member["role"], member["status"]) for member in one["members"]}
    projects = sorted(project["project_name"] for project in one["projects"])
    return one["org_name"], one["role"], one["status"], one["default"], members, projects, one["projectCount"]


class TestHistories:
    def test_service_returns_the_results_of_the_model(self, small_limits_app: Flask, tmp_path: Path) -> None:
        machine = type("Histories", (Histories,), {"app": small_limits_app, "source": template(tmp_path / "site.git")})
        run_state_machine_as_test(
            machine,
            settings=how(
                max_examples=HISTORIES,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
