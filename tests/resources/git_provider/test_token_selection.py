"""Tests of the selection of a credential for a project (contract 4.13) against both hosts."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from app.core.permissions import Role
from app.extensions import db, drivers
from app.models.project import ConnectionStatus, Project
from app.models.user import User
from app.resources.git_provider import connection_recovery
from app.resources.git_provider.provider_selection import token_refresher, write_access
from app.resources.user.events import user_deleting
from tests.support.doubles.server import Call, Fault, Reply
from tests.support.factories import organization
from tests.support.git_hosts import Hosts, OnGitHub, OnGitLab, connect_github, connect_gitlab, login_of, new_project
from tests.support.world import Person, World

pytestmark = pytest.mark.slow

USER, APP = "ghu_", "ghs_"
Later = Callable[..., AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def empty_write_access_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the cache of write access."""
    monkeypatch.setattr(write_access, "_entries", type(write_access._entries)())


def commit(person: Person, project: str, repository: OnGitHub | OnGitLab, **more: object) -> object:
    file = {"path": "content/a.md", "action": "update", "content": "# Changed\n"}
    body = {"message": "Edit", "base_sha": repository.git.head(), "files": [file]} | more
    return person.post(f"/project-content/{project}/commit", body)


def bearer(call: Call) -> str:
    return call.headers["Authorization"].removeprefix("Bearer ")


class TestGitHub:
    def test_project_is_created_indexed_and_committed_to(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        connect_github(me, hosts, repository.installation)
        project = new_project(me, me.new_organization(), "provider_a", repository.name)
        shown = me.get(f"/project/{project}").ok()
        assert shown["connection"] == {"status": "active", "connected_by": me.id, "account": login_of(me)}
        assert (shown["repository_id"], shown["generator"]) == (
            str(hosts.github.repositories[repository.name].id),
            "hugo",
        )
        world.work_off()
        tree = me.get(f"/project-content/{project}").ok()
        assert (tree["status"], tree["total"], tree["commit_sha"]) == ("ready", 3, repository.git.head())
        saved = commit(me, project, repository).ok(201)
        assert saved["commit_sha"] == repository.git.head()
        assert repository.git.show("content/a.md") == b"# Changed\n"
        assert repository.git.text("log", "-1", "--format=%an <%ae>") == "Galley Bot <bot@galley.example.org>"
        assert me.get(f"/project-content/{project}/file?file=content/a.md").ok()["commit_sha"] == repository.git.head()

    @pytest.mark.one_database
    def test_callers_token_with_access_is_used(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        connect_github(me, hosts, repository.installation)
        project = new_project(me, me.new_organization(), "github", repository.name)
        hosts.github.journal.clear()
        me.get(f"/project/{project}/branches").ok()
        assert {bearer(call)[:4] for call in hosts.github.calls("/branches")} == {USER}

    @pytest.mark.one_database
    def test_editor_without_an_account_uses_an_installation_token_for_one_repository(
        self, world: World, hosts: Hosts
    ) -> None:
        me, editor = world.person(), world.person()
        repository = hosts.on_github(login_of(me))
        connect_github(me, hosts, repository.installation)
        project = new_project(me, organization(world, me, (editor, Role.EDITOR)), "github", repository.name)
        hosts.github.journal.clear()
        commit(editor, project, repository).ok(201)
        tokens = {bearer(call) for call in hosts.github.calls(f"/repos/{repository.name}")}
        assert {token[:4] for token in tokens} == {APP}
        assert [hosts.github.grants[token].repositories for token in tokens] == [{repository.name}]

    @pytest.mark.one_database
    def test_editor_with_read_access_uses_the_installation_token(self, world: World, hosts: Hosts) -> None:
        me, editor = world.person(), world.person()
        repository = hosts.on_github(login_of(me), login_of(editor))
        hosts.github.repositories[repository.name].readers.add(login_of(editor))
        for who in (me, editor):
            connect_github(who, hosts, repository.installation)
        project = new_project(me, organization(world, me, (editor, Role.EDITOR)), "github", repository.name)
        hosts.github.journal.clear()
        commit(editor, project, repository).ok(201)
        assert {bearer(call)[:4] for call in hosts.github.calls("POST .*/git/")} == {APP}

    @pytest.mark.one_database
    def test_revoked_token_of_the_caller_falls_back_to_the_installation(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        connect_github(me, hosts, repository.installation)
        project = new_project(me, me.new_organization(), "github", repository.name)
        for token in [token for token, grant in hosts.github.grants.items() if grant.login == login_of(me)]:
            del hosts.github.grants[token]
        hosts.github.refreshing.clear()
        me.get(f"/project/{project}/branches").ok()
        assert me.get(f"/git-provider/{me.id}").ok()[0]["status"] == "needs_reconnect"
        assert me.get(f"/project/{project}").ok()["connection"]["status"] == "active"

    @pytest.mark.one_database
    def test_installation_remains_active_after_its_member_leaves(self, world: World, hosts: Hosts) -> None:
        owner, admin = world.person(), world.person()
        repository = hosts.on_github(login_of(admin))
        connect_github(admin, hosts, repository.installation)
        org = organization(world, owner, (admin, Role.ADMIN))
        project = new_project(admin, org, "github", repository.name)
        admin.patch(f"/organization/leave/{org}").ok()
        commit(owner, project, repository).ok(201)
        assert owner.get(f"/project/{project}").ok()["connection"]["status"] == "active"

    def test_removed_installation_returns_409_and_is_called_once(self, world: World, hosts: Hosts) -> None:
        me, editor = world.person(), world.person()
        repository = hosts.on_github(login_of(me))
        connect_github(me, hosts, repository.installation)
        project = new_project(me, organization(world, me, (editor, Role.EDITOR)), "github", repository.name)
        app = hosts.github.installations.pop(int(repository.installation))
        with world.app.app_context():
            drivers.git.installations("github")[0]._tokens.clear()
        hosts.github.journal.clear()
        for _ in range(3):
            editor.get(f"/project/{project}/branches").fails(409, "NEEDS_RECONNECT")
        assert len(hosts.github.calls("POST /api/app/installations/")) == 1
        assert editor.get(f"/project/{project}").ok()["connection"]["status"] == "needs_reconnect"
        hosts.github.installations[app.id] = app
        me.patch(f"/project/git/{project}", {}).ok()
        editor.get(f"/project/{project}/branches").ok()


class TestGitLab:
    def connected(self, world: World, hosts: Hosts, *more: tuple[Person, Role]) -> tuple[Person, str, OnGitLab, str]:
        me = world.person()
        repository = hosts.on_gitlab(login_of(me))
        connect_gitlab(me, hosts)
        org = organization(world, world.person(), (me, Role.ADMIN), *more)
        return me, new_project(me, org, "gitlab", repository.name), repository, org

    def test_project_is_created_indexed_and_committed_to(self, world: World, hosts: Hosts) -> None:
        me, project, repository, _ = self.connected(world, hosts)
        world.work_off()
        tree = me.get(f"/project-content/{project}").ok()
        assert (tree["status"], tree["total"], tree["commit_sha"]) == ("ready", 3, repository.git.head())
        saved = commit(me, project, repository).ok(201)
        assert saved["commit_sha"] == repository.git.head()
        assert repository.git.show("content/a.md") == b"# Changed\n"

    def test_editor_uses_the_account_of_the_connecting_member(self, world: World, hosts: Hosts) -> None:
        editor = world.person()
        me, project, repository, _ = self.connected(world, hosts, (editor, Role.EDITOR))
        commit(editor, project, repository).ok(201)
        users = {hosts.gitlab.grants[bearer(call)][0] for call in hosts.gitlab.calls("POST .*/commits")}
        assert users == {login_of(me)}

    @pytest.mark.parametrize("way", ["leave", "delete", "remove", "disconnect"])
    def test_departure_of_the_connecting_member_requires_a_reconnect(
        self, world: World, hosts: Hosts, way: str
    ) -> None:
        editor, second = world.person(), world.person()
        me, project, repository, org = self.connected(world, hosts, (editor, Role.EDITOR), (second, Role.ADMIN))
        self._end_connection(world, way, me, org, second)
        hosts.gitlab.journal.clear()
        for _ in range(2):
            editor.get(f"/project/{project}/branches").fails(409, "NEEDS_RECONNECT")
        assert hosts.gitlab.journal == []
        assert editor.get(f"/project/{project}").ok()["connection"]["status"] == "needs_reconnect"
        second.patch(f"/project/git/{project}", {}).fails(422, "REPO_UNAVAILABLE")
        next(each for each in hosts.gitlab.projects if each.name == repository.name).members.add(login_of(second))
        connect_gitlab(second, hosts)
        second.patch(f"/project/git/{project}", {}).ok()
        editor.get(f"/project/{project}/branches").ok()

    def _end_connection(self, world: World, way: str, who: Person, org: str, second: Person) -> None:
        if way == "leave":
            who.patch(f"/organization/leave/{org}").ok()
        elif way == "remove":
            second.patch(f"/organization/remove-member/{org}", {"member_id": who.id}).ok()
        elif way == "disconnect":
            who.delete(f"/git-provider/{who.get(f'/git-provider/{who.id}').ok()[0]['id']}").ok()
        else:
            with world.app.app_context():
                user_deleting.publish(db.session.get_one(User, who.id))
                db.session.commit()

    def test_rejected_account_marks_its_projects_until_reconnection(self, world: World, hosts: Hosts) -> None:
        editor = world.person()
        me, project, _, _ = self.connected(world, hosts, (editor, Role.EDITOR))
        self.revoke_all(hosts, me)
        hosts.gitlab.journal.clear()
        for who in (editor, me, editor):
            who.get(f"/project/{project}/branches").fails(409, "NEEDS_RECONNECT")
        assert len(hosts.gitlab.calls("POST /oauth/token")) == 1
        assert me.get(f"/project/{project}").ok()["connection"]["status"] == "needs_reconnect"
        connect_gitlab(me, hosts)
        editor.get(f"/project/{project}/branches").ok()

    def test_index_of_a_rejected_connection_is_failed(self, world: World, hosts: Hosts) -> None:
        me, project, _, _ = self.connected(world, hosts)
        self.revoke_all(hosts, me)
        world.work_off()
        assert me.get(f"/project/{project}").ok()["index"]["status"] == "failed"
        assert me.get(f"/project/{project}").ok()["connection"]["status"] == "needs_reconnect"

    def revoke_all(self, hosts: Hosts, person: Person) -> None:
        for token in [token for token, (name, _) in hosts.gitlab.grants.items() if name == login_of(person)]:
            del hosts.gitlab.grants[token]
        for token in [token for token, name in hosts.gitlab.refreshing.items() if name == login_of(person)]:
            del hosts.gitlab.refreshing[token]


@pytest.mark.one_database
class TestConnectRepository:
    @pytest.mark.parametrize("provider", ["github", "gitlab"])
    def test_project_without_a_connected_account_returns_422(self, world: World, hosts: Hosts, provider: str) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me)) if provider == "github" else hosts.on_gitlab(login_of(me))
        body = self.body(me, provider, repository.name)
        me.post("/project/create", body).fails(422, "REPO_UNAVAILABLE")

    def test_repository_of_another_user_returns_422(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        me.post("/project/create", self.body(me, "gitlab", hosts.on_gitlab("other").name)).fails(
            422, "REPO_UNAVAILABLE"
        )
        mine = hosts.on_github(login_of(me))
        connect_github(me, hosts, mine.installation)
        me.post("/project/create", self.body(me, "github", hosts.on_github("other").name)).fails(
            422, "REPO_UNAVAILABLE"
        )

    @pytest.mark.parametrize("provider", ["github", "gitlab"])
    def test_account_with_read_access_returns_422(self, world: World, hosts: Hosts, provider: str) -> None:
        me = world.person()
        if provider == "github":
            a = hosts.on_github(login_of(me))
            hosts.github.repositories[a.name].readers.add(login_of(me))
            connect_github(me, hosts, a.installation)
            name = a.name
        else:
            name = hosts.on_gitlab(login_of(me)).name
            next(each for each in hosts.gitlab.projects if each.name == name).readers.add(login_of(me))
            connect_gitlab(me, hosts)
        me.post("/project/create", self.body(me, provider, name)).fails(422, "REPO_UNAVAILABLE")

    def test_unknown_branch_returns_422(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        body = self.body(me, "gitlab", hosts.on_gitlab(login_of(me)).name) | {"branch": "nope"}
        me.post("/project/create", body).fails(422, "REPO_UNAVAILABLE")

    def test_token_without_an_installation_is_used_for_all_members(self, world: World, hosts: Hosts) -> None:
        me, editor = world.person(), world.person()
        repository = hosts.on_github(login_of(me))
        token = hosts.github.user_token(login_of(me))
        me.post("/git-provider/create", {"provider": "github", "access_token": token}).ok(201)
        project = new_project(me, organization(world, me, (editor, Role.EDITOR)), "github", repository.name)
        hosts.github.journal.clear()
        editor.get(f"/project/{project}/branches").ok()
        assert {bearer(call) for call in hosts.github.calls("/branches")} == {token}

    def body(self, person: Person, provider: str, repository: str) -> dict[str, str]:
        made = {"org_id": person.new_organization(), "project_name": "P", "provider": provider}
        return made | {"repository": repository, "branch": "main"}


@pytest.mark.one_database
class TestConfusedDeputy:
    def test_connection_is_not_used_for_another_repository(self, world: World, hosts: Hosts) -> None:
        """A row that names another repository receives a token for the first repository only."""
        me, editor = world.person(), world.person()
        mine, other = hosts.on_github(login_of(me)), hosts.on_github("other")
        connect_github(me, hosts, mine.installation)
        project = new_project(me, organization(world, me, (editor, Role.EDITOR)), "github", mine.name)
        with world.app.app_context():
            row = db.session.get_one(Project, project)
            row.repository, row.repository_id = other.name, None
            db.session.commit()
        hosts.github.journal.clear()
        editor.get(f"/project/{project}/branches").fails(422, "REPO_UNAVAILABLE")
        tokens = {bearer(call) for call in hosts.github.calls("/repos/")}
        assert [hosts.github.grants[token].repositories for token in tokens] == [{mine.name}]

    def test_moved_project_loses_the_account_of_another_member(self, world: World, hosts: Hosts) -> None:
        owner, admin = world.person(), world.person()
        repository = hosts.on_gitlab(login_of(admin))
        connect_gitlab(admin, hosts)
        project = new_project(admin, organization(world, owner, (admin, Role.ADMIN)), "gitlab", repository.name)
        moved = owner.patch(f"/project/move/{owner.new_organization()}/{project}").ok()
        assert moved["connection"]["status"] == "needs_reconnect"
        owner.get(f"/project/{project}/branches").fails(409, "NEEDS_RECONNECT")

    def test_throttled_token_of_the_caller_falls_back_to_the_connection(
        self, world: World, hosts: Hosts, make_throttled: Callable[[Hosts, Person], None]
    ) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        connect_github(me, hosts, repository.installation)
        project = new_project(me, me.new_organization(), "github", repository.name)
        make_throttled(hosts, me)
        me.get(f"/project/{project}/branches").ok()


@pytest.fixture
def make_throttled() -> Callable[[Hosts, Person], None]:
    def make(hosts: Hosts, person: Person) -> None:
        for token, grant in hosts.github.grants.items():
            if grant.login == login_of(person):
                hosts.github.budget[f"Bearer {token}"] = 0

    return make


class TestRejectedToken:
    """A 401 for a new token is not final, and a rejected connection recovers (limits, section 3)."""

    READS = r"GET /api/(v4/projects|repos)/"

    def gitlab_project(self, world: World, hosts: Hosts) -> tuple[Person, str]:
        me = world.person()
        repository = hosts.on_gitlab(login_of(me))
        connect_gitlab(me, hosts)
        return me, new_project(me, me.new_organization(), "gitlab", repository.name)

    def github_project(self, world: World, hosts: Hosts) -> tuple[Person, Person, str]:
        me, editor = world.person(), world.person()
        repository = hosts.on_github(login_of(me))
        connect_github(me, hosts, repository.installation)
        org = organization(world, me, (editor, Role.EDITOR))
        return me, editor, new_project(me, org, "github", repository.name)

    def status(self, person: Person, project: str) -> str:
        return str(person.get(f"/project/{project}").ok()["connection"]["status"])

    @pytest.mark.one_database
    def test_two_401_for_a_new_installation_token_leave_the_connection_active(self, world: World, hosts: Hosts) -> None:
        me, editor, project = self.github_project(world, hosts)
        self.forget_installation_tokens(world)
        hosts.github.faults.append(Fault(self.READS, times=2, reply=Reply(401, {"message": "Bad credentials"})))
        editor.get(f"/project/{project}/branches").ok()
        assert self.status(me, project) == "active"

    def test_two_401_for_a_new_user_token_leave_the_connection_active(self, world: World, hosts: Hosts) -> None:
        me, project = self.gitlab_project(world, hosts)
        connect_gitlab(me, hosts)
        hosts.gitlab.journal.clear()
        hosts.gitlab.faults.append(Fault(self.READS, times=2, reply=Reply(401, {"message": "no"})))
        me.get(f"/project/{project}/branches").ok()
        assert hosts.gitlab.calls("POST /oauth/token") == []
        assert self.status(me, project) == "active"

    @pytest.mark.one_database
    def test_two_401_right_after_the_exchange_connect_the_account(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        hosts.github.faults.append(Fault("GET /api/user", times=2, reply=Reply(401, {"message": "Bad credentials"})))
        assert connect_github(me, hosts, repository.installation)["status"] == "active"
        hosts.github.faults.append(Fault("GET /api/user", times=2, reply=Reply(401, {"message": "Bad credentials"})))
        assert len(me.get("/git-provider/repositories?provider=github").ok()) == 1

    @pytest.mark.one_database
    def test_rejected_refreshed_token_sets_needs_reconnect(self, world: World, hosts: Hosts, later: Later) -> None:
        me, project = self.gitlab_project(world, hosts)
        hosts.gitlab.faults.append(Fault("GET /api/v4/", times=99, reply=Reply(401, {"message": "no"})))
        hosts.gitlab.journal.clear()
        with later(seconds=6):
            me.get(f"/project/{project}/branches").fails(409, "NEEDS_RECONNECT")
        assert len(hosts.gitlab.calls("POST /oauth/token")) == 1
        hosts.gitlab.journal.clear()
        for _ in range(3):
            me.get(f"/project/{project}/branches").fails(409, "NEEDS_RECONNECT")
        assert hosts.gitlab.journal == []
        assert self.status(me, project) == "needs_reconnect"

    def test_rejected_credential_recovers_with_the_next_successful_call(
        self, world: World, hosts: Hosts, later: Later
    ) -> None:
        me, project = self.gitlab_project(world, hosts)
        self.mark(world, me, project)
        connection_recovery.attempts.succeeded(str(self.credential(me)["id"]))
        with later(seconds=6):
            me.get(f"/project/{project}/branches").ok()
        assert self.status(me, project) == "active"
        assert self.credential(me)["status"] == "active"

    def test_rejected_installation_recovers_with_the_next_successful_call(self, world: World, hosts: Hosts) -> None:
        me, editor, project = self.github_project(world, hosts)
        with world.app.app_context():
            db.session.get_one(Project, project).connection_status = ConnectionStatus.NEEDS_RECONNECT
            db.session.commit()
        editor.get(f"/project/{project}/branches").ok()
        assert self.status(me, project) == "active"

    def test_explicit_refresh_reactivates_a_rejected_credential(self, world: World, hosts: Hosts) -> None:
        me, project = self.gitlab_project(world, hosts)
        self.mark(world, me, project)
        assert me.post("/api/auth/provider_b/refresh", {}).ok()["status"] == "active"
        assert self.status(me, project) == "active"

    @pytest.mark.one_database
    def test_former_admin_with_role_editor_does_not_reactivate_the_project(self, world: World, hosts: Hosts) -> None:
        me, editor, owner = world.person(), world.person(), world.person()
        repository = hosts.on_gitlab(login_of(me))
        connect_gitlab(me, hosts)
        org = organization(world, owner, (me, Role.ADMIN), (editor, Role.EDITOR))
        project = new_project(me, org, "gitlab", repository.name)
        self.mark(world, me, project)
        owner.patch(f"/organization/update-role/{org}", {"member_id": me.id, "role": "editor"}).ok()
        hosts.gitlab.journal.clear()
        editor.get(f"/project/{project}/branches").fails(409, "NEEDS_RECONNECT")
        assert hosts.gitlab.journal == []

    def credential(self, person: Person) -> dict[str, object]:
        row: dict[str, object] = person.get(f"/git-provider/{person.id}").ok()[0]
        return row

    def mark(self, world: World, person: Person, project: str) -> None:
        """Mark the credential and the project as after two final 401."""
        with world.app.app_context():
            refresher = token_refresher(drivers.git)
            refresher.mark_needs_reconnect(refresher.find(str(self.credential(person)["id"])))
        assert self.status(person, project) == "needs_reconnect"

    def forget_installation_tokens(self, world: World) -> None:
        with world.app.app_context():
            drivers.git.installations("github")[0]._tokens.clear()


@pytest.mark.one_database
def test_token_that_expires_early_is_refreshed_each_time(world: World, hosts: Hosts) -> None:
    """A recent refresh does not prevent the next refresh."""
    me = world.person()
    repository = hosts.on_gitlab(login_of(me))
    connect_gitlab(me, hosts)
    project = new_project(me, me.new_organization(), "gitlab", repository.name)
    for _ in range(3):
        for token in [token for token, (name, _) in hosts.gitlab.grants.items() if name == login_of(me)]:
            del hosts.gitlab.grants[token]
        me.get(f"/project/{project}/branches").ok()
