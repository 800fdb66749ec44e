"""Tests of credentials that callers create, rotate and delete, and of their repositories, over HTTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from app.database.transactions import write_transaction
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.git_credential import GitCredential, GitRevocation
from app.models.user import User
from app.resources.git_provider import jobs
from app.resources.user.events import user_deleting
from tests.support.doubles.server import Fault, Reply
from tests.support.git_hosts import Hosts, connect_github, connect_gitlab, login_of, new_project
from tests.support.parallel import statuses, together
from tests.support.world import Person, World

pytestmark = pytest.mark.slow

Later = Callable[..., AbstractContextManager[None]]
ITEM = {"id", "full_name", "owner", "name", "default_branch", "private", "url", "updated_at"}


def credential_body(person: Person, hosts: Hosts, **more: object) -> dict[str, object]:
    body = {
        "provider": "gitlab",
        "access_token": hosts.gitlab.token(login_of(person)),
        "refresh_token": "first-refresh",
    }
    return body | more


class TestCreate:
    def test_second_credential_replaces_the_first(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        first = me.post("/git-provider/create", credential_body(me, hosts)).ok(201)
        second = me.post("/provider/create", credential_body(me, hosts)).ok(200)
        assert (first["id"], first["token_hint"] != second["token_hint"]) == (second["id"], True)
        assert first["provider_account"]["login"] == login_of(me)
        assert me.get(f"/provider/{me.id}").ok() == [second]

    @pytest.mark.one_database
    def test_rejected_token_returns_422(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        me.post("/git-provider/create", credential_body(me, hosts, access_token="made-up")).fails(422, "TOKEN_REJECTED")
        body = {"provider": "provider_a", "access_token": "made-up"}
        me.post("/git-provider/create", body).fails(422, "TOKEN_REJECTED")
        assert me.get(f"/git-provider/{me.id}").ok() == []

    def test_times_are_accepted_as_iso_or_milliseconds(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        times = {"access_token_expires_at": 1_900_000_000_000, "refresh_token_expires_at": "2031-01-02T03:04:05+01:00"}
        created = me.post("/git-provider/create", credential_body(me, hosts, **times)).ok(201)
        assert created["access_token_expires_at"] == "2030-03-17T17:46:40.000Z"
        assert created["refresh_token_expires_at"] == "2031-01-02T02:04:05.000Z"

    def test_installation_of_another_account_returns_403(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        mine, theirs = hosts.on_github(login_of(me)), hosts.on_github("somebody")
        body = {"provider": "GITHUB", "access_token": hosts.github.user_token(login_of(me))}
        me.post("/git-provider/create", body | {"installation_id": theirs.installation}).fails(
            403, "INSTALLATION_NOT_VISIBLE"
        )
        created = me.post("/git-provider/create", body | {"installation_id": int(mine.installation)}).ok(201)
        assert created["installation_id"] == mine.installation

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"provider": "local"}, "provider"),
            ({"access_token": ""}, "access_token"),
            ({"access_token": "a\nb"}, "access_token"),
            ({"access_token": "ä"}, "access_token"),
            ({"access_token": None}, "access_token"),
            ({"refresh_token": 7}, "refresh_token"),
            ({"access_token_expires_at": "soon"}, "access_token_expires_at"),
            ({"access_token_expires_at": 1e300}, "access_token_expires_at"),
            ({"installation_id": "x/../y"}, "installation_id"),
        ],
    )
    def test_invalid_field_returns_400_with_path(
        self, world: World, hosts: Hosts, change: dict[str, object], path: str
    ) -> None:
        me = world.person()
        me.post("/git-provider/create", credential_body(me, hosts) | change).fails(400, "VALIDATION_FAILED", path)

    def test_parallel_creations_store_one_row(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        sends = [partial(me.again().post, "/git-provider/create", credential_body(me, hosts)) for _ in range(8)]
        assert statuses(together(sends)) == {201: 1, 200: 7}
        assert len(me.get(f"/git-provider/{me.id}").ok()) == 1

    def test_user_id_in_the_body_is_ignored(self, world: World, hosts: Hosts) -> None:
        me, other = world.person(), world.person()
        assert me.post("/git-provider/create", credential_body(me, hosts, user_id=other.id)).ok(201)["user_id"] == me.id


class TestRotate:
    def rotation(self, old: str, new: str) -> dict[str, str]:
        return {"provider": "gitlab", "old_refresh_token": old, "access_token": f"access-{new}", "refresh_token": new}

    def test_rotate_replaces_the_tokens(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        me.post("/git-provider/create", credential_body(me, hosts)).ok(201)
        rotated = me.post("/git-provider/rotate", self.rotation("first-refresh", "second")).ok()
        assert rotated["token_hint"] == "cond"
        assert rotated["last_refreshed_at"] is not None
        me.post("/provider/rotate", self.rotation("second", "third")).ok()

    def test_previous_token_returns_409(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        me.post("/git-provider/create", credential_body(me, hosts)).ok(201)
        me.post("/git-provider/rotate", self.rotation("first-refresh", "second")).ok()
        me.post("/git-provider/rotate", self.rotation("second", "third")).ok()
        for old in ("first-refresh", "second"):
            me.post("/git-provider/rotate", self.rotation(old, "other")).fails(409, "ALREADY_ROTATED")

    def test_parallel_rotations_succeed_once(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        me.post("/git-provider/create", credential_body(me, hosts)).ok(201)
        sends = [
            partial(me.again().post, "/git-provider/rotate", self.rotation("first-refresh", f"next-{number}"))
            for number in range(8)
        ]
        assert statuses(together(sends)) == {200: 1, 409: 7}

    @pytest.mark.one_database
    def test_unknown_token_returns_404(self, world: World, hosts: Hosts) -> None:
        me, other = world.person(), world.person()
        other.post("/git-provider/create", credential_body(other, hosts, refresh_token="theirs")).ok(201)
        me.post("/git-provider/rotate", self.rotation("theirs", "mine")).fails(404)
        me.post("/git-provider/create", credential_body(me, hosts)).ok(201)
        me.post("/git-provider/rotate", self.rotation("theirs", "mine")).fails(404)
        me.post("/git-provider/rotate", self.rotation("first-refresh", "x") | {"provider": "github"}).fails(404)


def revocations(world: World) -> set[str]:
    """Return the ids of pending revocations. Other tests leave some."""
    with world.app.app_context():
        return set(db.session.scalars(sa.select(GitRevocation.id)))


class TestDisconnect:
    def test_delete_removes_the_row_and_revokes_the_tokens(self, world: World, hosts: Hosts) -> None:
        me, others = world.person(), revocations(world)
        made = connect_gitlab(me, hosts)
        held = {token for token, (name, _) in hosts.gitlab.grants.items() if name == login_of(me)}
        assert me.delete(f"/git-provider/{made['id']}").ok() == {"id": made["id"], "deleted": True}
        assert me.get(f"/git-provider/{me.id}").ok() == []
        assert revocations(world) > others
        world.work_off()
        assert held & set(hosts.gitlab.grants) == set()
        assert login_of(me) not in hosts.gitlab.refreshing.values()
        assert revocations(world) <= others

    def test_delete_revokes_the_tokens_of_user_and_installation(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        made = connect_github(me, hosts, repository.installation)
        me.delete(f"/provider/{made['id']}").ok()
        world.work_off()
        left = [g for g in hosts.github.grants.values() if g.login == login_of(me)]
        left += [g for g in hosts.github.grants.values() if g.installation == int(repository.installation)]
        assert left == []

    @pytest.mark.one_database
    def test_credential_of_another_user_returns_404(self, world: World, hosts: Hosts) -> None:
        me, other = world.person(), world.person()
        theirs = connect_gitlab(other, hosts)["id"]
        for credential in (theirs, "cred_unknown", me.id):
            me.delete(f"/git-provider/{credential}").fails(404)
        assert len(other.get(f"/git-provider/{other.id}").ok()) == 1

    def test_deleted_user_loses_the_tokens(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        with world.app.app_context():
            user_deleting.publish(db.session.get_one(User, me.id))
            db.session.commit()
        world.work_off()
        assert login_of(me) not in {name for name, _ in hosts.gitlab.grants.values()}

    def test_failing_revocation_is_deleted_after_a_week(self, world: World) -> None:
        with world.app.app_context():
            young, old = (
                GitRevocation(
                    provider="gitlab",
                    kind="access_token",
                    token_secret="sealed",
                    created_at=utcnow_ms() - timedelta(days=days),
                )
                for days in (1, 8)
            )
            db.session.add_all([young, old])
            db.session.commit()
            ids = young.id, old.id
            with write_transaction():
                jobs.delete_old_rows()
        assert revocations(world) & set(ids) == {ids[0]}
        with world.app.app_context():
            db.session.execute(sa.delete(GitRevocation).where(GitRevocation.id == ids[0]))
            db.session.commit()


class TestRepositories:
    def test_gitlab_list_contains_writable_repositories_in_pages(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        names = sorted(hosts.on_gitlab(login_of(me)).name for _ in range(52))
        first = me.get("/git-provider/repositories?provider=gitlab")
        assert {frozenset(item) for item in first.ok()} == {frozenset(ITEM)}
        cursor = first.json["meta"]["next_cursor"]
        rest = me.get(f"/git-provider/repositories?provider=provider_b&cursor={cursor}")
        assert rest.json["meta"] == {"total": None, "next_cursor": None}
        assert sorted(item["full_name"] for item in first.ok() + rest.ok()) == names
        (found,) = me.get(f"/provider/repositories?provider=gitlab&search={names[3].split('/')[0]}").ok()
        assert found["full_name"] == names[3]
        me.get("/git-provider/repositories?provider=gitlab&cursor=x").fails(400, None, "cursor")

    def test_github_list_contains_repositories_of_all_visible_installations(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        first, second = hosts.on_github(login_of(me)), hosts.on_github(login_of(me))
        hosts.on_github("somebody")
        connect_github(me, hosts, second.installation)
        items = me.get("/git-provider/repositories?provider=github").ok()
        assert [(item["full_name"], item["private"]) for item in items] == [(first.name, True), (second.name, True)]
        org = me.new_organization()
        for repository in (first, second):
            new_project(me, org, "github", repository.name)

    def test_rejected_token_is_refreshed_once(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        hosts.on_gitlab(login_of(me))
        hosts.gitlab.journal.clear()
        for token in [token for token, (name, _) in hosts.gitlab.grants.items() if name == login_of(me)]:
            del hosts.gitlab.grants[token]
        assert len(me.get("/git-provider/repositories?provider=gitlab").ok()) == 1
        assert len(hosts.gitlab.calls("POST /oauth/token")) == 1

    def test_rejected_refreshed_token_sets_needs_reconnect(self, world: World, hosts: Hosts, later: Later) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        hosts.gitlab.journal.clear()
        hosts.gitlab.faults.append(Fault("GET /api/v4/projects$", times=99, reply=Reply(401, {"message": "no"})))
        with later(seconds=6):
            me.get("/git-provider/repositories?provider=gitlab").fails(409, "NEEDS_RECONNECT")
        assert len(hosts.gitlab.calls("POST /oauth/token")) == 1
        asked = len(hosts.gitlab.calls("GET /api/v4/projects$"))
        me.get("/git-provider/repositories?provider=gitlab").fails(409, "NEEDS_RECONNECT")
        assert len(hosts.gitlab.calls("GET /api/v4/projects$")) == asked
        with world.app.app_context():
            assert db.session.query(GitCredential).filter_by(user_id=me.id).one().status == "needs_reconnect"
