"""Tests of the GitHub App and of GitHub accounts."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from app.core import clock
from app.drivers.errors import DriverError, ReconnectRequired, UpstreamError, UpstreamTimeout
from app.drivers.git.accounts import CodeRejected, TokenRejected
from app.drivers.git.github.accounts import GitHubAccounts
from app.drivers.git.github.app import GitHubApp
from tests.support.doubles.github import GitHub
from tests.support.doubles.plumbing import Plumbing
from tests.support.doubles.server import Fault, Reply


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHub]:
    double = GitHub()
    git = Plumbing(tmp_path / "git", {"a": b"a"})
    double.add("team/site", git, "ada")
    double.add("team/blog", git, "ada", "bob")
    double.install("team", "team/site", "team/blog")
    yield double
    double.close()
    assert double.violations == []


@pytest.fixture
def app(host: GitHub) -> GitHubApp:
    return GitHubApp(
        url=host.url,
        api_url=host.api_url,
        app_id=host.app_id,
        slug=host.app_slug,
        client_id=host.client_id,
        client_secret=host.client_secret,
        private_key=host.private_key,
    )


@pytest.fixture
def accounts(host: GitHub) -> GitHubAccounts:
    return GitHubAccounts(host.api_url)


class TestExchange:
    def test_exchange_returns_the_tokens_of_the_user(
        self, host: GitHub, app: GitHubApp, accounts: GitHubAccounts
    ) -> None:
        tokens = app.exchange(host.approve("ada"))
        assert accounts.whoami(tokens.access_token).login == "ada"
        assert tokens.token_type == "bearer"
        assert tokens.expires_at
        assert timedelta(hours=7.9) < tokens.expires_at - clock.now() < timedelta(hours=8.1)
        assert tokens.refresh_token
        assert tokens.refresh_expires_at

    def test_exchange_of_non_expiring_tokens_returns_no_refresh_token(self, host: GitHub, app: GitHubApp) -> None:
        host.expiring = False
        tokens = app.exchange(host.approve("ada"))
        assert (tokens.expires_at, tokens.refresh_token, tokens.refresh_expires_at) == (None, None, None)

    def test_exchange_of_a_used_code_raises_code_rejected(self, host: GitHub, app: GitHubApp) -> None:
        code = host.approve("ada")
        app.exchange(code)
        with pytest.raises(CodeRejected):
            app.exchange(code)

    def test_exchange_without_a_response_is_not_repeated(self, host: GitHub, app: GitHubApp) -> None:
        host.faults.append(Fault("POST /login", lose=True))
        with pytest.raises(DriverError):
            app.exchange(host.approve("ada"))
        assert len(host.calls("POST /login")) == 1

    def test_exchange_with_an_html_response_raises_upstream_error(self, host: GitHub, app: GitHubApp) -> None:
        host.faults.append(Fault("POST /login", reply=Reply(200, b"<html>")))
        with pytest.raises(UpstreamError):
            app.exchange("c")

    def test_tokens_representation_contains_no_secret(self, host: GitHub, app: GitHubApp) -> None:
        tokens = app.exchange(host.approve("ada"))
        assert tokens.access_token not in repr(tokens)
        assert str(tokens.refresh_token) not in repr(tokens)


class TestRefresh:
    def test_refresh_returns_rotated_tokens(self, host: GitHub, app: GitHubApp, accounts: GitHubAccounts) -> None:
        first = app.exchange(host.approve("ada"))
        second = app.refresh(str(first.refresh_token))
        assert second.refresh_token != first.refresh_token
        assert accounts.whoami(second.access_token).login == "ada"

    def test_refresh_with_a_used_token_raises_reconnect_required(self, host: GitHub, app: GitHubApp) -> None:
        first = app.exchange(host.approve("ada"))
        app.refresh(str(first.refresh_token))
        with pytest.raises(ReconnectRequired):
            app.refresh(str(first.refresh_token))

    def test_refresh_with_a_wrong_client_secret_raises_upstream_error(self, host: GitHub, app: GitHubApp) -> None:
        first = app.exchange(host.approve("ada"))
        host.client_secret = "another"
        with pytest.raises(UpstreamError):
            app.refresh(str(first.refresh_token))


class TestInstallationToken:
    def test_installation_token_grants_the_repositories_of_the_installation(self, host: GitHub, app: GitHubApp) -> None:
        token = app.installation_token("90")
        assert host.grants[token.token].installation == 90
        assert timedelta(minutes=58) < token.expires_at - clock.now() < timedelta(minutes=61)

    def test_installation_token_for_a_repository_grants_only_that_repository(
        self, host: GitHub, app: GitHubApp
    ) -> None:
        token = app.installation_token("90", repository="team/site")
        assert host.grants[token.token].repositories == {"team/site"}

    def test_installation_token_for_a_renamed_repository_uses_its_id(self, host: GitHub, app: GitHubApp) -> None:
        number = host.repositories["team/site"].id
        host.rename("team/site", "team/renamed")
        token = app.installation_token("90", repository="team/site", repository_id=str(number))
        assert host.grants[token.token].repositories == {"team/renamed"}

    def test_installation_token_is_cached_until_it_almost_expires(self, host: GitHub, app: GitHubApp) -> None:
        first = app.installation_token("90")
        assert app.installation_token("90") == first
        with clock.shifted(timedelta(minutes=54)):
            assert app.installation_token("90") == first
        assert len(host.calls("access_tokens")) == 1

    def test_installation_token_that_almost_expires_is_renewed(self, host: GitHub, app: GitHubApp) -> None:
        host.installation_s = 240
        assert app.installation_token("90") != app.installation_token("90")

    def test_fresh_installation_token_bypasses_the_cache(self, host: GitHub, app: GitHubApp) -> None:
        assert app.installation_token("90") != app.installation_token("90", fresh=True)

    def test_parallel_requests_for_an_installation_token_send_one_call(self, host: GitHub, app: GitHubApp) -> None:
        host.faults.append(Fault("access_tokens", delay_s=0.3))
        items: list[object] = []
        threads = [
            threading.Thread(target=lambda: items.append(app.installation_token("90", fresh=True))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(items) == 8
        assert len(set(map(repr, items))) == 1
        assert len(host.calls("access_tokens")) == 1

    def test_removed_installation_raises_reconnect_required(self, host: GitHub, app: GitHubApp) -> None:
        host.installations.clear()
        with pytest.raises(ReconnectRequired):
            app.installation_token("90")

    def test_temporary_failure_is_retried(self, host: GitHub, app: GitHubApp) -> None:
        host.faults.append(Fault("access_tokens", reply=Reply(502, b"<html>Bad gateway")))
        assert app.installation_token("90").token in host.grants


class TestAccounts:
    def test_whoami_returns_id_login_and_name(self, host: GitHub, accounts: GitHubAccounts) -> None:
        me = accounts.whoami(host.user_token("ada"))
        assert (me.id, me.login, me.name) == (str(host.accounts["ada"].id), "ada", "Ada")

    @pytest.mark.parametrize("token", ["nonsense", ""])
    def test_unknown_token_is_rejected(self, accounts: GitHubAccounts, token: str) -> None:
        with pytest.raises(TokenRejected):
            accounts.whoami(token)

    def test_installations_contain_only_visible_ones(self, host: GitHub, accounts: GitHubAccounts) -> None:
        host.install("strangers", "strangers/secret")
        token = host.user_token("ada")
        assert [each.id for each in accounts.installations(token)] == ["90"]
        assert accounts.can_access_installation(token, "90")
        assert not accounts.can_access_installation(token, "91")

    def test_repositories_contain_only_those_of_the_user(self, host: GitHub, accounts: GitHubAccounts) -> None:
        page = accounts.repositories(host.user_token("bob"), "90")
        assert [each.full_name for each in page.repositories] == ["team/blog"]
        assert page.cursor is None

    def test_repositories_without_an_installation_contain_those_of_the_token(
        self, host: GitHub, accounts: GitHubAccounts
    ) -> None:
        page = accounts.repositories(host.user_token("bob"))
        assert [each.full_name for each in page.repositories] == ["team/blog"]

    def test_repositories_of_all_installations_are_paginated(self, host: GitHub, accounts: GitHubAccounts) -> None:
        git, expected = host.repositories["team/site"].git, ["team/blog"]
        for owner, count in (("crew", 120), ("gang", 0), ("club", 3)):
            names = [f"{owner}/r{number}" for number in range(count)]
            for name in names:
                host.add(name, git, "bob")
            host.install(owner, *names)
            expected += names
        token, found, cursor, rounds = host.user_token("bob"), [], None, 0
        while rounds == 0 or cursor:
            page = accounts.repositories(token, "90", cursor=cursor)
            found += [each.full_name for each in page.repositories]
            cursor, rounds = page.cursor, rounds + 1
        assert sorted(found) == sorted(expected)
        assert rounds > 1

    def test_repositories_reads_at_most_ten_pages_per_call(self, host: GitHub, accounts: GitHubAccounts) -> None:
        git = host.repositories["team/site"].git
        for number in range(15):
            host.add(f"crew{number}/site", git, "bob")
            host.install(f"crew{number}", f"crew{number}/site")
        token = host.user_token("bob")
        host.journal.clear()
        page = accounts.repositories(token, "90", search="nothing")
        assert len(host.calls("/repositories$")) == 10
        assert page.cursor
        assert accounts.repositories(token, "90", search="nothing", cursor=page.cursor).cursor is None
        assert len(host.calls("/repositories$")) == 16

    def test_repositories_search_reads_all_pages(self, host: GitHub, accounts: GitHubAccounts) -> None:
        git = host.repositories["team/site"].git
        names = [f"team/r{number:03}" for number in range(250)]
        for name in names:
            host.add(name, git, "ada")
        host.installations[90].repositories.update(names)
        token, found, cursor = host.user_token("ada"), [], None
        for _ in range(5):
            page = accounts.repositories(token, "90", search="R", cursor=cursor)
            found += [each.full_name for each in page.repositories]
            cursor = page.cursor
            if cursor is None:
                break
        assert found == names
        assert [r.full_name for r in accounts.repositories(token, "90", search="R249").repositories] == ["team/r249"]

    def test_revoked_user_token_is_rejected(self, host: GitHub, app: GitHubApp, accounts: GitHubAccounts) -> None:
        token = host.user_token("ada")
        app.revoke(token)
        with pytest.raises(TokenRejected):
            accounts.whoami(token)
        app.revoke(token)

    def test_revoked_installation_token_is_rejected(
        self, host: GitHub, app: GitHubApp, accounts: GitHubAccounts
    ) -> None:
        token = app.installation_token("90").token
        accounts.revoke_installation_token(token)
        assert token not in host.grants
        accounts.revoke_installation_token(token)


def test_silent_host_raises_upstream_timeout(host: GitHub, app: GitHubApp) -> None:
    host.faults.append(Fault("POST /login", reply=Reply(504)))
    with pytest.raises(UpstreamTimeout):
        app.exchange("c")


def test_installation_token_with_a_rejected_app_key_raises_upstream_error(host: GitHub, app: GitHubApp) -> None:
    (installation,) = host.installations
    host.faults.append(Fault("POST /api/app/installations/", times=9, reply=Reply(401, {"message": "Bad JWT"})))
    with pytest.raises(UpstreamError):
        app.installation_token(str(installation))
