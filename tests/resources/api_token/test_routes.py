"""Tests of the routes of API tokens and service accounts."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from app.core import clock
from app.database.transactions import write_transaction
from app.extensions import db
from app.models.login import ApiToken
from app.security.secrets import is_api_token
from tests.support.tokens import Program, new_token, program
from tests.support.workspace import Workspace, make_workspace
from tests.support.world import Person, World

Later = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def space(world: World) -> Workspace:
    return make_workspace(world)


def _in(days: float) -> str:
    return clock.iso(clock.now() + timedelta(days=days))


class TestPersonalTokens:
    def test_create_returns_the_secret_once_and_the_defaults(self, world: World) -> None:
        me = world.person()
        made = new_token(me, "write", "read", "write", name=" Deploy ")
        assert is_api_token(made["token"])
        assert made["scopes"] == ["read", "write"]
        assert made["projects"] is None
        assert made["org_id"] is None
        assert (made["name"], made["status"], made["user_id"]) == ("Deploy", "active", me.id)
        assert made["token_hint"] == made["token"][-4:]
        assert made["last_used_at"] is None
        assert _in(89.9) < made["expires_at"] < _in(90.1)
        shown = me.get(f"/tokens/{made['id']}")
        assert shown.ok() == {name: value for name, value in made.items() if name != "token"}
        assert me.get("/tokens").ok() == [shown.ok()]
        assert made["token"] not in shown.response.get_data(as_text=True)

    def test_token_authenticates_without_a_cookie(self, world: World) -> None:
        me = world.person()
        bot = program(me, "read")
        assert bot.get(f"/user/{me.id}").ok()["id"] == me.id
        [shown] = me.get("/tokens").ok()
        assert shown["last_used_at"] is not None
        assert shown["updatedAt"] < shown["last_used_at"]

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"name": ""}, "name"),
            ({"scopes": []}, "scopes"),
            ({"scopes": ["root"]}, "scopes.0"),
            ({"projects": []}, "projects"),
            ({"projects": ["nonsense"]}, "projects.0"),
            ({"expires_at": "soon"}, "expires_at"),
            ({"expires_at": "9999-01-01T00:00:00Z"}, "expires_at"),
            ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ],
    )
    def test_create_with_invalid_field_returns_400_with_path(
        self, world: World, body: dict[str, object], path: str
    ) -> None:
        world.person().post("/tokens", {"name": "A", "scopes": ["read"]} | body).fails(400, None, path)

    @pytest.mark.one_database
    def test_expiry_beyond_a_year_returns_400_with_path(self, world: World) -> None:
        me = world.person()
        assert new_token(me, expires_at=_in(365))["status"] == "active"
        me.post("/tokens", {"name": "A", "scopes": ["read"], "expires_at": _in(367)}).fails(400, None, "expires_at")

    @pytest.mark.one_database
    def test_create_with_unreachable_project_returns_403_or_404(self, world: World, space: Workspace) -> None:
        body = {"name": "A", "scopes": ["read"], "projects": [space.project]}
        world.person().post("/tokens", body).fails(403)
        space.me.post("/tokens", body | {"projects": ["prj_" + "7" + "z" * 25]}).fails(404)
        assert space.me.post("/tokens", body).ok(201)["projects"] == [space.project]

    def test_update_changes_the_sent_fields(self, space: Workspace) -> None:
        made = new_token(space.me, "read", projects=[space.project])
        path, expiry = f"/tokens/{made['id']}", _in(3)
        assert space.me.patch(path, {"name": "Other"}).ok()["projects"] == [space.project]
        changed = space.me.patch(path, {"projects": None, "scopes": ["admin"], "expires_at": expiry}).ok()
        assert (changed["name"], changed["projects"], changed["scopes"]) == ("Other", None, ["admin"])
        assert changed["expires_at"] == expiry
        space.me.patch(path, {"expires_at": None}).fails(400, None, "expires_at")
        space.me.patch(path, {"name": "Late"}, headers={"If-Match": '"old"'}).fails(412)

    def test_changed_scopes_apply_to_the_next_request(self, world: World) -> None:
        me = world.person()
        made = new_token(me, "read")
        bot = Program(me.app, made["token"])
        bot.get("/organization/user").ok()
        me.patch(f"/tokens/{made['id']}", {"scopes": ["write"]}).ok()
        bot.get("/organization/user").fails(403, "TOKEN_SCOPE_MISSING")

    def test_rotate_replaces_the_secret_and_repeats_the_lifetime(self, world: World) -> None:
        me = world.person()
        made = new_token(me, "read", expires_at=_in(10))
        rotated = me.post(f"/tokens/{made['id']}/rotate", {}).ok()
        assert rotated["id"] == made["id"]
        assert rotated["token"] != made["token"]
        assert _in(9.9) < rotated["expires_at"] < _in(10.1)
        Program(me.app, made["token"]).get("/organization/user").fails(401, "INVALID_API_TOKEN")
        Program(me.app, rotated["token"]).get("/organization/user").ok()

    def test_rotate_repeats_at_most_the_longest_lifetime(self, world: World, later: Later) -> None:
        me = world.person()
        path = f"/tokens/{new_token(me)['id']}"
        with later(days=5):
            me.prove_identity()
            me.patch(path, {"expires_at": _in(366)}).ok()
            assert _in(365.9) < me.post(f"{path}/rotate", {}).ok()["expires_at"] < _in(366.1)

    def test_deleted_token_returns_401(self, world: World) -> None:
        me = world.person()
        made = new_token(me)
        assert me.delete(f"/tokens/{made['id']}").ok() == {"id": made["id"], "deleted": True}
        answer = Program(me.app, made["token"]).get("/organization/user")
        answer.fails(401, "INVALID_API_TOKEN")
        assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
        me.delete(f"/tokens/{made['id']}").fails(404)

    def test_expired_token_returns_401_until_rotation(self, world: World, later: Later) -> None:
        me = world.person()
        made = new_token(me, expires_at=_in(1))
        with later(days=1, seconds=1):
            Program(me.app, made["token"]).get("/organization/user").fails(401, "INVALID_API_TOKEN")
            assert me.get(f"/tokens/{made['id']}").ok()["status"] == "expired"
            me.prove_identity()
            rotated = me.post(f"/tokens/{made['id']}/rotate", {}).ok()
            Program(me.app, rotated["token"]).get("/organization/user").ok()

    @pytest.mark.one_database
    def test_token_of_another_user_returns_404(self, world: World) -> None:
        made, other = new_token(world.person()), world.person()
        for send in (other.get, other.delete, lambda path: other.patch(path, {"name": "Mine"})):
            send(f"/tokens/{made['id']}").fails(404)
        other.post(f"/tokens/{made['id']}/rotate", {}).fails(404)
        assert other.get("/tokens").ok() == []

    def test_idempotent_replay_returns_no_secret(self, world: World) -> None:
        me, headers = world.person(), {"Idempotency-Key": "once"}
        body = {"name": "A", "scopes": ["read"]}
        first = me.post("/tokens", body, headers=headers).ok(201)
        again = me.post("/tokens", body, headers=headers)
        assert again.ok(201) == first | {"token": None}
        assert again.headers["Idempotency-Replayed"] == "true"
        assert len(me.get("/tokens").ok()) == 1

    def test_create_above_the_token_limit_returns_403(self, world: World) -> None:
        me = world.person()
        _insert_tokens(me, me.app.config["SETTINGS"].limits.tokens.per_user)
        me.post("/tokens", {"name": "One more", "scopes": ["read"]}).fails(403, "LIMIT_REACHED")

    def test_password_reset_revokes_the_tokens(self, newcomer: Callable[..., Person]) -> None:
        me = newcomer()
        me.sign_up().ok()
        me.verify().ok()
        bot = program(me, "read")
        me.post("/auth/forget-password", {"email": me.email}).ok()
        World(me.app).work_off()
        token = me.mailbox.tokens()[-1]
        me.post("/auth/reset-password", {"token": token, "newPassword": "Another-Harbour-7"}).ok()
        bot.get("/organization/user").fails(401, "INVALID_API_TOKEN")


def _insert_tokens(who: Person, count: int) -> None:
    now = clock.now()
    shared = {"user_id": who.id, "scopes": ["read"], "issued_at": now, "expires_at": now + timedelta(days=1)}
    with who.app.app_context(), write_transaction():
        for number in range(count):
            text = f"{who.id} {number}"
            db.session.add(ApiToken(name=f"Token {number}", token_hash=text, token_hint="hint", **shared))
