"""Tests of API tokens in requests: precedence over the cookie, permissions and rates."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from flask import Flask

from app.access.tokens import InvalidApiToken, bearer_of
from app.core.api_tokens import TokenGrant, TokenScope
from app.core.rates import RateLimits
from app.extensions import db
from app.rate_limiting.counter import RateCounter
from app.security.secrets import new_api_token
from tests.support.assertions.statements import counted
from tests.support.tokens import Program, new_token, program
from tests.support.workspace import Workspace, make_workspace
from tests.support.world import Browser, World

EVIL = {"Origin": "https://evil.example.org"}


@pytest.fixture
def space(world: World) -> Workspace:
    return make_workspace(world)


def _bearer(token: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {token}"}


@pytest.mark.one_database
class TestHeader:
    @pytest.mark.parametrize(
        ("value", "token"),
        [
            ("Bearer abc", "abc"),
            ("bearer  abc ", "abc"),
            ("BEARER", ""),
            ("Basic abc", None),
            ("", None),
            ("abc", None),
        ],
    )
    def test_bearer_of_reads_only_the_bearer_scheme(self, app: Flask, value: str, token: str | None) -> None:
        with app.test_request_context(headers={"Authorization": value}) as context:
            assert bearer_of(context.request) == token

    @pytest.mark.parametrize("token", ["", "nonsense", "glly_", "glly_" + "0" * 49, "x" * 8000, "ü"])
    def test_mistyped_token_sends_no_query(self, app: Flask, world: World, token: str) -> None:
        bot = Program(app, "")
        with counted(app) as statements:
            bot.get("/organization/user", headers=_bearer(token)).fails(401, "INVALID_API_TOKEN")
        assert [text for text in statements if "api_tokens" in text] == []

    def test_invalid_token_does_not_fall_back_to_the_cookie(self, world: World) -> None:
        me = world.person()
        for token in (new_api_token(), "nonsense", ""):
            me.get("/organization/user", headers=_bearer(token)).fails(401, InvalidApiToken.code)
        me.get("/organization/user", headers=_bearer("x", "Basic")).ok()

    def test_valid_token_is_used_instead_of_the_cookie(self, world: World) -> None:
        me, other = world.person(), world.person()
        made = new_token(other, "read")
        answer = me.get(f"/user/{other.id}", headers=_bearer(made["token"]))
        assert answer.ok()["id"] == other.id
        me.get("/auth/get-session", headers=_bearer(made["token"])).fails(403, "SESSION_REQUIRED")

    def test_public_routes_ignore_an_invalid_token(self, app: Flask) -> None:
        assert Program(app, "nonsense").get("/healthz").status == 200


class TestCookieChecks:
    def test_origin_is_checked_only_for_the_cookie(self, world: World) -> None:
        me = world.person()
        bot = program(me, "admin")
        bot.post("/organization", {"org_name": "By token"}, headers=EVIL).ok(201)
        me.post("/organization", {"org_name": "By page"}, headers=EVIL).fails(403, "INVALID_ORIGIN")
        me.post("/organization", {"org_name": "Both"}, headers=EVIL | _bearer(bot.token)).ok(201)
        me.post("/organization", {"org_name": "Bad"}, headers=EVIL | _bearer("x")).fails(401)

    def test_unchanged_tree_with_a_token_ignores_the_cookie(self, world: World, space: Workspace) -> None:
        world.work_off()
        path = f"/project-content/{space.project}"
        tag = {"If-None-Match": space.me.get(path).headers["ETag"]}
        assert space.me.get(path, headers=tag).status == 304
        space.me.get(path, headers=tag | _bearer("nonsense")).fails(401)
        assert program(space.me, "read").get(path, headers=tag).status == 304
        program(space.me, "write").get(path, headers=tag).fails(403, "TOKEN_SCOPE_MISSING")

    def test_idempotency_keys_belong_to_one_token(self, world: World) -> None:
        me, key = world.person(), {"Idempotency-Key": "one"}
        admin, reader, body = program(me, "admin"), program(me, "read"), {"org_name": "Once"}
        first = admin.post("/organization", body, headers=key).ok(201)
        assert admin.post("/organization", body, headers=key).ok(201) == first
        reader.post("/organization", body, headers=key).fails(403, "TOKEN_SCOPE_MISSING")
        me.post("/organization", body, headers=key).fails(409)


class TestRights:
    def test_token_of_a_platform_admin_has_no_platform_rights(self, world: World) -> None:
        admin, other = world.person(admin=True), world.person()
        bot = program(admin)
        admin.get(f"/user/{other.id}").ok()
        bot.get(f"/user/{other.id}").fails(403, "NOT_ALLOWED")
        bot.get("/order/summary").fails(403)

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/tokens", {"name": "A", "scopes": ["read"]}),
            ("GET", "/tokens", None),
            ("POST", "/auth/change-password", {"currentPassword": "a", "newPassword": "b"}),
            ("PATCH", "/user/set-password", {"newPassword": "Another-Harbour-7"}),
            ("GET", "/auth/list-sessions", None),
            ("POST", "/auth/revoke-sessions", {}),
            ("POST", "/auth/update-user", {"name": "A"}),
            ("GET", "/auth/get-session", None),
        ],
    )
    def test_token_with_all_scopes_cannot_use_routes_of_sessions(
        self, world: World, method: str, path: str, body: object
    ) -> None:
        program(world.person()).call(method, path, body).fails(403, "SESSION_REQUIRED")

    def test_token_cannot_read_billing(self, world: World) -> None:
        me = world.person()
        program(me).get(f"/order/{me.id}").fails(403, "SESSION_REQUIRED")

    def test_token_of_an_unverified_user_is_refused(self, app: Flask, world: World) -> None:
        me = world.person()
        bot = program(me, "read")
        with app.app_context(), db.engine.begin() as connection:
            connection.execute(
                sa.text("UPDATE users SET email_verified = :no WHERE id = :id"), {"no": False, "id": me.id}
            )
        bot.get("/organization/user").fails(403, "EMAIL_NOT_VERIFIED")

    def test_sign_out_with_a_token_keeps_the_session_of_the_cookie(self, world: World) -> None:
        me = world.person()
        me.again().post("/auth/sign-out", {}, headers=_bearer(new_token(me)["token"]))
        me.get("/auth/get-session").ok()


@pytest.fixture
def counter(app: Flask) -> Iterator[RateCounter]:
    """A counter of the table's rates. The counter of the test application allows more."""
    before = app.extensions["rates"]
    app.extensions["rates"] = counter = RateCounter(redis_url=None)
    yield counter
    app.extensions["rates"] = before


@pytest.mark.one_database
@pytest.mark.usefixtures("counter")
class TestRates:
    def test_rate_of_a_token_does_not_affect_other_tokens(self, app: Flask, world: World, counter: RateCounter) -> None:
        me = world.person()
        first, second = new_token(me, "read"), new_token(me, "read")
        [rate] = RateLimits().token
        for _ in range(rate.times):
            counter.try_acquire((rate,), "token", first["id"])
        Program(app, first["token"]).get("/organization/user").fails(429)
        Program(app, second["token"]).get("/organization/user").ok()
        me.get("/organization/user").ok()

    def test_writes_of_a_token_are_counted_separately(self, app: Flask, world: World, counter: RateCounter) -> None:
        me = world.person()
        made = new_token(me, "read")
        [rate] = RateLimits().token_writes
        for _ in range(rate.times):
            counter.try_acquire((rate,), "token_writes", made["id"])
        bot = Program(app, made["token"])
        bot.get("/organization/user").ok()
        bot.post("/user/check-limits", {}).fails(429)
        me.post("/user/check-limits", {}).ok()

    def test_invalid_tokens_count_as_anonymous(self, app: Flask) -> None:
        address = {"environ_overrides": {"REMOTE_ADDR": "192.0.2.77"}}
        [rate] = RateLimits().anonymous_address
        statuses = {
            Browser(app).get("/organization/user", headers=_bearer(new_api_token()), **address).status
            for _ in range(rate.times + 1)
        }
        assert statuses == {401, 429}


class TestGrant:
    @pytest.mark.parametrize(
        ("projects", "organization", "targets", "covered"),
        [
            (None, None, {}, True),
            (None, None, {"project": "p", "organization": "o"}, True),
            (["p"], None, {"project": "p", "organization": "o"}, True),
            (["p"], None, {"project": "q", "organization": "o"}, False),
            (["p"], None, {"organization": "o"}, False),
            (["p"], None, {}, False),
            ([], None, {"project": "p", "organization": "o"}, False),
            (["p"], None, {"project": "p", "organization": "o", "destination": "d"}, False),
            (None, "o", {}, False),
            (None, "o", {"organization": "o"}, True),
            (None, "o", {"organization": "x"}, False),
            (None, "o", {"project": "p", "organization": "o", "destination": "x"}, False),
            (None, "o", {"project": "p", "organization": "o", "destination": "o"}, True),
            (["p"], "o", {"project": "p", "organization": "o"}, True),
            (["p"], "o", {"organization": "o"}, False),
        ],
    )
    def test_covers_compares_projects_and_organizations(
        self, projects: list[str] | None, organization: str | None, targets: dict[str, str], covered: bool
    ) -> None:
        restricted = None if projects is None else frozenset(projects)
        grant = TokenGrant("tok", "Deploy", frozenset(TokenScope), restricted, organization)
        organizations = [targets[name] for name in ("organization", "destination") if name in targets]
        assert grant.covers(targets.get("project"), organizations) is covered
