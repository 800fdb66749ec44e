"""Tests of connecting accounts at both hosts over HTTP: authorization URL, code exchange and refresh."""

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask

from app.extensions import db
from app.models.git_credential import GitCredential
from tests.support.doubles.server import Fault, Reply
from tests.support.git_hosts import Hosts, connect_github, connect_gitlab, hosted_application, login_of
from tests.support.parallel import at_once, statuses
from tests.support.world import World

pytestmark = pytest.mark.slow

FIELDS = {
    "id", "user_id", "provider", "provider_account", "token_type", "scopes", "installation_id",
    "access_token_expires_at", "refresh_token_expires_at", "last_refreshed_at", "status", "token_hint", "createdAt",
    "updatedAt",
}  # fmt: skip
EXCHANGED = "POST /login/oauth/access_token"


def state_of(url: str) -> str:
    return parse_qs(urlsplit(url).query)["state"][0]


class TestGitHubExchange:
    def test_code_and_installation_create_a_credential(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        made = connect_github(me, hosts, repository.installation)
        assert set(made) == FIELDS
        assert (made["provider"], made["installation_id"], made["status"]) == (
            "github",
            repository.installation,
            "active",
        )
        assert made["provider_account"]["login"] == login_of(me)
        assert me.get(f"/git-provider/{me.id}").ok() == [made]

    def test_query_parameters_are_accepted(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        query = {"code": hosts.github.approve(login_of(me)), "installation_id": repository.installation}
        response = me.post("/api/auth/provider_a", query_string=query)
        assert response.ok()["installation_id"] == repository.installation
        assert response.json["installation_id"] == repository.installation  # the flat surface

    @pytest.mark.parametrize("kind", [int, float])
    def test_installation_id_as_a_number_is_accepted(
        self, world: World, hosts: Hosts, kind: Callable[[str], float]
    ) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        body = {"code": hosts.github.approve(login_of(me)), "installation_id": kind(repository.installation)}
        me.post("/api/auth/provider_a", body).ok()

    def test_installation_of_another_account_returns_403_and_revokes_the_token(
        self, world: World, hosts: Hosts
    ) -> None:
        me = world.person()
        repository = hosts.on_github("somebody-else")
        body = {"code": hosts.github.approve(login_of(me)), "installation_id": repository.installation}
        me.post("/api/auth/provider_a", body).fails(403, "INSTALLATION_NOT_VISIBLE")
        assert me.get(f"/git-provider/{me.id}").ok() == []
        assert [call.status for call in hosts.github.calls("DELETE /api/applications/")] == [204]
        assert hosts.github.calls("POST /api/app/installations/") == []

    @pytest.mark.one_database
    def test_rejected_code_returns_422(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        repository = hosts.on_github(login_of(me))
        body = {"code": "made-up", "installation_id": repository.installation}
        me.post("/api/auth/provider_a", body).fails(422, "CODE_REJECTED")

    @pytest.mark.one_database
    def test_missing_or_invalid_field_returns_400_with_path(self, world: World) -> None:
        me = world.person()
        me.post("/api/auth/provider_a", {"code": "x"}).fails(400, "VALIDATION_FAILED", "installation_id")
        me.post("/api/auth/provider_a", {"installation_id": "9"}).fails(400, "VALIDATION_FAILED", "code")
        me.post("/api/auth/provider_a", {"code": "x", "installation_id": "../9"}).fails(400, None, "installation_id")


class TestState:
    def test_used_state_returns_400(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        url = me.post("/api/auth/provider_b/start", {}).ok()["url"]
        first = {"code": hosts.gitlab.approve(url, login_of(me)), "state": state_of(url)}
        me.post("/api/auth/provider_b", first).ok()
        again = {"code": hosts.gitlab.approve(url, login_of(me)), "state": state_of(url)}
        me.post("/api/auth/provider_b", again).fails(400, "INVALID_STATE")

    def test_state_of_a_rejected_code_is_used(self, world: World) -> None:
        me = world.person()
        state = state_of(me.post("/api/auth/provider_b/start", {}).ok()["url"])
        me.post("/api/auth/provider_b", {"code": "made-up", "state": state}).fails(422, "CODE_REJECTED")
        me.post("/api/auth/provider_b", {"code": "made-up", "state": state}).fails(400, "INVALID_STATE")

    def test_state_of_another_session_user_or_provider_returns_400(self, world: World, hosts: Hosts) -> None:
        me, other = world.person(), world.person()
        theirs = state_of(other.post("/api/auth/provider_b/start", {}).ok()["url"])
        for_a = state_of(me.post("/api/auth/provider_a/start", {}).ok()["url"])
        for state in (theirs, for_a, "made-up"):
            me.post("/api/auth/provider_b", {"code": "x", "state": state}).fails(400, "INVALID_STATE")
        assert hosts.gitlab.journal == []

    def test_state_expires_after_ten_minutes(
        self, world: World, hosts: Hosts, later: Callable[..., AbstractContextManager[None]]
    ) -> None:
        me = world.person()
        url = me.post("/api/auth/provider_b/start", {}).ok()["url"]
        body = {"code": hosts.gitlab.approve(url, login_of(me)), "state": state_of(url)}
        with later(minutes=11):
            me.post("/api/auth/provider_b", body).fails(400, "INVALID_STATE")


class TestGitLabExchange:
    def test_code_with_pkce_creates_a_credential(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        made = connect_gitlab(me, hosts)
        assert (made["provider"], made["scopes"], made["installation_id"]) == ("gitlab", ["api"], None)
        assert made["provider_account"]["login"] == login_of(me)
        assert made["access_token_expires_at"].endswith("Z")
        assert "code_verifier" in hosts.gitlab.calls("POST /oauth/token")[0].data

    def test_code_without_a_state_is_exchanged_with_the_redirect_uri_of_the_caller(
        self, world: World, hosts: Hosts
    ) -> None:
        me = world.person()
        url = (
            f"{hosts.gitlab.url}/oauth/authorize?client_id={hosts.gitlab.client_id}&response_type=code"
            "&redirect_uri=https://app.example.org/back"
        )
        code = hosts.gitlab.approve(url, login_of(me))
        me.post("/api/auth/provider_b", {"code": code, "redirect_uri": "https://app.example.org/back"}).ok()

    @pytest.mark.one_database
    def test_redirect_uri_of_another_host_returns_403(self, world: World) -> None:
        me = world.person()
        for address in (
            "https://evil.example.org/x",
            "//evil.example.org",
            "javascript:alert(1)",
            "\\\\evil",
            "http://[::1",
        ):
            me.post("/api/auth/provider_b/start", {"redirect_uri": address}).fails(403, "INVALID_REDIRECT")


class TestRefresh:
    def test_github_refresh_rotates_both_tokens(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        before = connect_github(me, hosts, hosts.on_github(login_of(me)).installation)
        hosts.github.journal.clear()
        after = me.post("/api/auth/provider_a/refresh", {}).ok()
        assert (after["id"], after["status"]) == (before["id"], "active")
        assert after["token_hint"] != before["token_hint"]
        assert after["last_refreshed_at"] is not None
        assert len(hosts.github.calls(EXCHANGED)) == 1
        assert len(hosts.github.calls("POST /api/app/installations/")) == 1
        me.post("/api/auth/provider_a/refresh", {}).ok()

    def test_github_refresh_of_a_permanent_token_checks_only_the_installation(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        hosts.github.expiring = False
        try:
            before = connect_github(me, hosts, hosts.on_github(login_of(me)).installation)
        finally:
            hosts.github.expiring = True
        hosts.github.journal.clear()
        after = me.post("/api/auth/provider_a/refresh", {}).ok()
        assert after["token_hint"] == before["token_hint"]
        assert hosts.github.calls(EXCHANGED) == []
        assert len(hosts.github.calls("POST /api/app/installations/")) == 1

    def test_repeated_gitlab_refresh_rotates_the_tokens(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        for _ in range(3):
            me.post("/api/auth/provider_b/refresh", {}).ok()
        used = [call.data["refresh_token"] for call in hosts.gitlab.calls("POST /oauth/token")[1:]]
        assert len(set(used)) == 3

    @pytest.mark.parametrize("provider", ["provider_a", "provider_b"])
    def test_parallel_refreshes_call_the_host_once(self, world: World, hosts: Hosts, provider: str) -> None:
        me = world.person()
        if provider == "provider_a":
            connect_github(me, hosts, hosts.on_github(login_of(me)).installation)
        else:
            connect_gitlab(me, hosts)
        double = hosts.github if provider == "provider_a" else hosts.gitlab
        double.journal.clear()
        double.latency_s = 0.6
        answers = at_once(16, lambda: me.again().post(f"/api/auth/{provider}/refresh", {}))
        assert statuses(answers) == {200: 16}
        assert len({response.json["result"]["token_hint"] for response in answers}) == 1
        assert len(double.calls("oauth/(access_)?token")) == 1
        assert len(double.calls("POST /api/app/installations/")) == (1 if provider == "provider_a" else 0)

    def test_rejected_refresh_returns_409_without_further_calls(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        hosts.gitlab.refreshing.clear()
        hosts.gitlab.journal.clear()
        for _ in range(3):
            me.post("/api/auth/provider_b/refresh", {}).fails(409, "NEEDS_RECONNECT")
        assert len(hosts.gitlab.calls("POST /oauth/token")) == 1
        assert me.get(f"/git-provider/{me.id}").ok()[0]["status"] == "needs_reconnect"
        assert connect_gitlab(me, hosts)["status"] == "active"

    def test_unavailable_host_returns_503_and_leaves_the_credential(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_gitlab(me, hosts)
        hosts.gitlab.faults.append(Fault("POST /oauth/token", times=1, reply=Reply(503)))
        me.post("/api/auth/provider_b/refresh", {}).fails(503)
        me.post("/api/auth/provider_b/refresh", {}).ok()

    def test_refreshed_user_tokens_are_stored_although_the_installation_fails(self, world: World, hosts: Hosts) -> None:
        me = world.person()
        connect_github(me, hosts, hosts.on_github(login_of(me)).installation)
        hosts.github.faults.append(Fault("POST /api/app/installations/", times=9, reply=Reply(404)))
        me.post("/api/auth/provider_a/refresh", {}).fails(409, "NEEDS_RECONNECT")
        with world.app.app_context():
            row = db.session.query(GitCredential).filter_by(user_id=me.id).one()
            assert row.refresh_hash not in row.previous_refresh_hashes
            assert len(row.previous_refresh_hashes) == 1

    @pytest.mark.one_database
    @pytest.mark.parametrize("provider", ["provider_a", "provider_b"])
    def test_missing_credential_returns_404(self, world: World, provider: str) -> None:
        world.person().post(f"/api/auth/{provider}/refresh", {}).fails(404)


class TestConfiguration:
    def test_unconfigured_provider_returns_503(self, store: str, tmp_path: Path) -> None:
        bare = dict.fromkeys(("GITHUB_APP_ID", "GITLAB_CLIENT_ID"), "")
        with hosted_application(store, tmp_path, **bare) as (app, _):
            me = World(app).person()
            for provider in ("provider_a", "provider_b"):
                me.post(f"/api/auth/{provider}/start", {}).fails(503, "PROVIDER_NOT_CONFIGURED")

    def test_production_requires_a_state(self, app: Flask, world: World) -> None:
        me, settings = world.person(), app.config["SETTINGS"]
        app.config["SETTINGS"] = dataclasses.replace(settings, env="production")
        try:
            me.post("/api/auth/provider_b", {"code": "x"}).fails(400, "INVALID_STATE")
        finally:
            app.config["SETTINGS"] = settings
