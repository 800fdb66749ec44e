"""Tests of members who are limited to projects of their organization."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.permissions import Role
from app.extensions import db
from app.models.organization import InvitationProject, MembershipProject
from app.models.project import ConnectionStatus, Project, Provider
from tests.resources.organization.test_routes import verify_email
from tests.support.factories import organization, project, repository
from tests.support.parallel import together
from tests.support.samples.sites import SMALL
from tests.support.tokens import program
from tests.support.world import Answer, Person, World

GHOST = "prj_7zzzzzzzzzzzzzzzzzzzzzzzzz"


@dataclass(frozen=True)
class Agency:
    """An organization with two projects, and a client who edits the first one only."""

    world: World
    owner: Person
    colleague: Person
    client: Person
    org: str
    mine: str
    hidden: str

    def limit(self, *projects: str, role: str = "editor", by: Person | None = None) -> Answer:
        """Limit the client to projects."""
        chosen = [{"project_id": project_id, "role": role} for project_id in projects]
        body = {"member_id": self.client.id, "role": "editor", "access": "projects", "projects": chosen}
        return (by or self.owner).patch(f"/organization/update-role/{self.org}", body)

    def member(self, by: Person, person: Person) -> dict[str, object] | None:
        """Return what a member reads about another one."""
        members = by.get(f"/organization/{self.org}").ok()["members"]
        return next((member for member in members if member["email"] == person.email), None)


@pytest.fixture
def agency(world: World) -> Agency:
    owner, colleague, client = world.person(), world.person(), world.person()
    org = organization(world, owner, (colleague, Role.EDITOR), (client, Role.EDITOR))
    (first, _), (second, _) = repository(world, SMALL), repository(world, SMALL)
    made = Agency(
        world, owner, colleague, client, org, project(world, owner, org, first), project(world, owner, org, second)
    )
    made.limit(made.mine).ok()
    return made


def _ids(listed: list[dict[str, str]]) -> list[str]:
    return [item["project_id"] for item in listed]


def _rows(app: Flask, table: type[MembershipProject | InvitationProject], project_id: str) -> int:
    with app.app_context():
        statement = sa.select(sa.func.count()).select_from(table).where(table.project_id == project_id)
        return db.session.scalar(statement) or 0


class TestLimitedMember:
    def test_hidden_project_has_the_response_to_a_nonmember(self, agency: Agency) -> None:
        stranger, path = agency.world.person(), f"/project/{agency.hidden}"
        answers = [who.get(path).fails(403) for who in (agency.client, stranger)]
        assert answers[0] == answers[1]
        agency.client.get(f"/project/{agency.mine}").ok()

    def test_lists_contain_the_chosen_projects(self, agency: Agency) -> None:
        assert _ids(agency.client.get(f"/project/orgs/{agency.org}?status=all").ok()) == [agency.mine]
        [listed] = [one for one in agency.client.get("/organization/user").ok() if one["org_id"] == agency.org]
        assert (_ids(listed["projects"]), listed["projectCount"], listed["role"]) == ([agency.mine], 1, "editor")
        assert agency.client.get(f"/organization/{agency.org}").ok()["projectCount"] == 1
        names = [item["full_name"] for item in agency.client.get("/git-provider/repositories?provider=local").ok()]
        assert names == []

    def test_members_are_those_of_the_same_projects(self, agency: Agency) -> None:
        chosen = [{"project_id": agency.hidden, "role": "editor"}]
        other = agency.world.person()
        body = {"email": other.email, "role": "editor", "access": "projects", "projects": chosen}
        agency.owner.patch(f"/organization/member/{agency.org}", body).ok()
        agency.owner.patch(f"/organization/member/{agency.org}", body | {"email": "new@mail.example.org"}).ok()
        seen = [member["email"] for member in agency.client.get(f"/organization/{agency.org}").ok()["members"]]
        assert set(seen) == {agency.owner.email, agency.colleague.email, agency.client.email}
        assert len(agency.colleague.get(f"/organization/{agency.org}").ok()["members"]) == 5
        assert agency.member(agency.owner, agency.client) == agency.member(agency.client, agency.client)

    def test_administrator_of_a_project_changes_its_settings_only(self, agency: Agency) -> None:
        rename = partial(agency.client.patch, f"/project/{agency.mine}", {"project_name": "Client"})
        rename().fails(403)
        agency.limit(agency.mine, role="admin").ok()
        rename().ok()
        agency.client.delete(f"/project/{agency.mine}").fails(403)
        agency.client.patch(f"/project/git/{agency.mine}", {}).fails(403)
        agency.client.get(f"/organization/{agency.org}/webhooks").fails(403)
        agency.client.patch(f"/organization/{agency.org}", {"org_name": "Mine"}).fails(403)
        agency.limit(agency.mine, by=agency.client).fails(403)

    def test_token_has_the_access_of_its_owner(self, agency: Agency) -> None:
        agency.client.post("/tokens", {"name": "T", "scopes": ["read"], "projects": [agency.hidden]}).fails(403)
        token = program(agency.client, projects=[agency.mine])
        everywhere = program(agency.client)
        token.get(f"/project/{agency.mine}").ok()
        everywhere.get(f"/project/{agency.hidden}").fails(403, "NOT_ALLOWED")
        assert _ids(everywhere.get(f"/project/orgs/{agency.org}").ok()) == [agency.mine]
        agency.limit(agency.hidden).ok()
        token.get(f"/project/{agency.mine}").fails(403, "NOT_ALLOWED")

    def test_member_can_leave(self, agency: Agency) -> None:
        agency.client.patch(f"/organization/leave/{agency.org}").ok()
        assert _rows(agency.world.app, MembershipProject, agency.mine) == 0


class TestChange:
    def test_role_without_access_keeps_the_projects(self, agency: Agency) -> None:
        path, body = f"/organization/update-role/{agency.org}", {"member_id": agency.client.id}
        agency.owner.patch(path, body | {"role": "editor"}).ok()
        agency.client.get(f"/project/{agency.hidden}").fails(403)

    def test_administrator_sees_all_projects(self, agency: Agency) -> None:
        path, body = f"/organization/update-role/{agency.org}", {"member_id": agency.client.id}
        agency.owner.patch(path, body | {"role": "admin"}).ok()
        agency.client.get(f"/project/{agency.hidden}").ok()
        agency.owner.patch(path, body | {"role": "editor"}).ok()
        agency.client.get(f"/project/{agency.hidden}").ok()
        assert _rows(agency.world.app, MembershipProject, agency.mine) == 0

    def test_new_owner_sees_all_projects(self, agency: Agency) -> None:
        agency.owner.post(f"/organization/transfer/{agency.org}", {"member_id": agency.client.id}).ok()
        agency.client.get(f"/project/{agency.hidden}").ok()
        member = agency.member(agency.client, agency.client)
        assert member is not None
        assert (member["access"], member["projects"]) == ("all", [])

    @pytest.mark.parametrize(
        ("change", "status", "path"),
        [
            ({"role": "admin"}, 400, "access"),
            ({"projects": []}, 400, "projects"),
            ({"access": "all"}, 400, "projects"),
            ({"access": "some"}, 400, "access"),
            ({"projects": [{"project_id": "nonsense", "role": "editor"}]}, 400, "projects.0.project_id"),
            ({"projects": [{"project_id": GHOST, "role": "owner"}]}, 400, "projects.0.role"),
            ({"projects": [{"project_id": GHOST, "role": "editor"}] * 2}, 400, "projects"),
            ({"projects": [{"project_id": GHOST, "role": "editor"}]}, 404, None),
        ],
    )
    @pytest.mark.parametrize("is_invitation", [True, False])
    def test_invalid_projects_are_refused(
        self, agency: Agency, change: dict[str, object], status: int, path: str | None, is_invitation: bool
    ) -> None:
        body = {"role": "editor", "access": "projects", "projects": [{"project_id": agency.mine, "role": "editor"}]}
        who = {"email": "new@mail.example.org"} if is_invitation else {"member_id": agency.client.id}
        route = f"/organization/{'member' if is_invitation else 'update-role'}/{agency.org}"
        agency.owner.patch(route, body | who | change).fails(status, None, *([path] if path else []))

    def test_project_of_another_organization_returns_404(self, agency: Agency, world: World) -> None:
        foreign = project(world, agency.owner, organization(world, agency.owner), repository(world, SMALL)[0])
        agency.limit(foreign).fails(404)
        agency.client.get(f"/project/{agency.mine}").ok()

    def test_deleted_and_moved_projects_leave_no_row(self, agency: Agency, world: World) -> None:
        app, elsewhere = world.app, organization(world, agency.owner)
        agency.limit(agency.mine, agency.hidden).ok()
        agency.owner.patch(f"/project/move/{elsewhere}/{agency.hidden}").ok()
        agency.client.get(f"/project/{agency.hidden}").fails(403)
        agency.owner.delete(f"/project/{agency.mine}").ok()
        assert [_rows(app, MembershipProject, one) for one in (agency.mine, agency.hidden)] == [0, 0]
        assert agency.client.get(f"/project/orgs/{agency.org}").ok() == []

    def test_project_with_the_credential_of_a_limited_member_needs_a_connection(
        self, app: Flask, agency: Agency
    ) -> None:
        with app.app_context():
            made = db.session.get_one(Project, agency.mine)
            made.provider, made.connected_by = Provider.GITLAB, agency.client.id
            db.session.commit()
        agency.limit(agency.mine, agency.hidden).ok()
        assert agency.owner.get(f"/project/{agency.mine}").ok()["connection"]["status"] == ConnectionStatus.ACTIVE
        agency.limit(agency.hidden).ok()
        shown = agency.owner.get(f"/project/{agency.mine}").ok()["connection"]
        assert shown["status"] == ConnectionStatus.NEEDS_RECONNECT


class TestInvite:
    def test_verified_user_is_limited_at_once(self, agency: Agency, world: World) -> None:
        newcomer = world.person()
        assert self._invite(agency, newcomer.email)["status"] == "active"
        assert _ids(newcomer.get(f"/project/orgs/{agency.org}").ok()) == [agency.hidden]

    def test_membership_of_an_invitation_has_its_projects(self, app: Flask, agency: Agency, world: World) -> None:
        newcomer = world.person(verified=False)
        self._invite(agency, newcomer.email)
        agency.owner.patch(f"/organization/member/{agency.org}", {"email": newcomer.email, "role": "editor"}).ok()
        invited = agency.member(agency.owner, newcomer)
        assert invited is not None
        assert (invited["status"], invited["projects"]) == (
            "invited",
            [{"project_id": agency.hidden, "role": "admin"}],
        )
        verify_email(app, newcomer.id)
        assert _ids(newcomer.get(f"/project/orgs/{agency.org}").ok()) == [agency.hidden]
        newcomer.patch(f"/project/{agency.hidden}", {"project_name": "Site"}).ok()
        assert _rows(app, InvitationProject, agency.hidden) == 0

    def test_invitation_to_a_deleted_project_gives_no_project(self, app: Flask, agency: Agency, world: World) -> None:
        newcomer = world.person(verified=False)
        self._invite(agency, newcomer.email)
        agency.owner.delete(f"/project/{agency.hidden}").ok()
        assert _rows(app, InvitationProject, agency.hidden) == 0
        verify_email(app, newcomer.id)
        assert newcomer.get(f"/project/orgs/{agency.org}").ok() == []

    @staticmethod
    def _invite(agency: Agency, email: str) -> dict[str, object]:
        chosen = [{"project_id": agency.hidden, "role": "admin"}]
        body = {"email": email, "role": "editor", "access": "projects", "projects": chosen}
        result: dict[str, object] = agency.owner.patch(f"/organization/member/{agency.org}", body).ok()
        return result


@pytest.mark.slow
class TestRaces:
    def test_write_after_the_end_of_the_access_is_refused(self, agency: Agency) -> None:
        agency.limit(agency.mine, role="admin").ok()
        path = f"/project/{agency.mine}"
        writes: list[Callable[[], Answer]] = [
            partial(agency.client.again().patch, path, {"project_name": f"Name {number}"}) for number in range(10)
        ]

        def end() -> Answer:
            answer = agency.limit(agency.hidden, by=agency.owner.again())
            names.append(agency.owner.again().get(path).ok()["project_name"])
            return answer

        names: list[str] = []
        answers = together([*writes, end])
        assert {answer.status for answer in answers[:-1]} <= {200, 403, 503}
        answers[-1].ok()
        assert agency.owner.get(path).ok()["project_name"] == names[0]
        writes[0]().fails(403)

    def test_end_of_the_access_waits_for_a_write_that_has_begun(self, agency: Agency) -> None:
        app, done = agency.world.app, threading.Event()
        if db_name(app) != "postgresql":
            pytest.skip("SQLite has one writer")

        def end() -> None:
            agency.limit(agency.hidden).ok()
            done.set()

        with app.app_context(), db.engine.begin() as writing:
            writing.execute(sa.select(Project.id).where(Project.id == agency.mine).with_for_update(key_share=True))
            thread = threading.Thread(target=end)
            thread.start()
            with db.engine.connect() as reading:
                waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
                while not reading.scalar(waiting):
                    assert not done.wait(0.05)
                    reading.rollback()
            assert not done.is_set()
        thread.join(30)
        assert done.is_set()


def db_name(app: Flask) -> str:
    """Return the name of the database system."""
    with app.app_context():
        return db.engine.dialect.name
