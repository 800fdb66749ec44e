"""Tests of the OAuth application on GitLab and of GitLab accounts."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.errors import DriverError, ReconnectRequired, UpstreamError
from app.drivers.git.accounts import CodeRejected, TokenRejected
from app.drivers.git.gitlab.accounts import GitLabAccounts, GitLabOAuth
from tests.support.doubles.gitlab import GitLab
from tests.support.doubles.plumbing import Plumbing
from tests.support.doubles.server import Fault

BACK = "https://galley.example.org/connected"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def host() -> Iterator[GitLab]:
    double = GitLab()
    yield double
    double.close()


@pytest.fixture
def app(host: GitLab) -> GitLabOAuth:
    return GitLabOAuth(url=host.url, client_id=host.client_id, client_secret=host.client_secret)


@pytest.fixture
def accounts(host: GitLab) -> GitLabAccounts:
    return GitLabAccounts(host.url)


@pytest.fixture
def code(host: GitLab, app: GitLabOAuth) -> str:
    return host.approve(app.authorize_url(redirect_uri=BACK, state="s", code_challenge=CHALLENGE), "grace")


class TestExchange:
    def test_exchange_returns_tokens(self, app: GitLabOAuth, accounts: GitLabAccounts, code: str) -> None:
        tokens = app.exchange(code, redirect_uri=BACK, code_verifier=VERIFIER)
        assert accounts.whoami(tokens.access_token).login == "grace"
        assert (tokens.token_type, tokens.scopes) == ("bearer", ("api",))
        assert tokens.expires_at
        assert tokens.refresh_token

    @pytest.mark.parametrize("verifier", [None, "wrong" * 10])
    def test_exchange_with_a_wrong_verifier_raises_code_rejected(
        self, app: GitLabOAuth, code: str, verifier: str | None
    ) -> None:
        with pytest.raises(CodeRejected):
            app.exchange(code, redirect_uri=BACK, code_verifier=verifier)

    def test_exchange_of_a_used_code_raises_code_rejected(self, app: GitLabOAuth, code: str) -> None:
        app.exchange(code, redirect_uri=BACK, code_verifier=VERIFIER)
        with pytest.raises(CodeRejected):
            app.exchange(code, redirect_uri=BACK, code_verifier=VERIFIER)

    def test_exchange_without_a_response_is_not_repeated(self, host: GitLab, app: GitLabOAuth, code: str) -> None:
        host.faults.append(Fault("POST /oauth/token", lose=True))
        with pytest.raises(DriverError):
            app.exchange(code, redirect_uri=BACK, code_verifier=VERIFIER)
        assert len(host.calls("POST /oauth/token")) == 1


class TestRefresh:
    def test_refresh_returns_rotated_tokens(self, app: GitLabOAuth, code: str) -> None:
        first = app.exchange(code, redirect_uri=BACK, code_verifier=VERIFIER)
        second = app.refresh(str(first.refresh_token))
        assert second.refresh_token != first.refresh_token
        with pytest.raises(ReconnectRequired):
            app.refresh(str(first.refresh_token))

    def test_refresh_with_a_wrong_client_secret_raises_upstream_error(
        self, host: GitLab, app: GitLabOAuth, code: str
    ) -> None:
        first = app.exchange(code, redirect_uri=BACK, code_verifier=VERIFIER)
        host.client_secret = "another"
        with pytest.raises(UpstreamError):
            app.refresh(str(first.refresh_token))


class TestAccounts:
    def test_unknown_token_is_rejected(self, accounts: GitLabAccounts) -> None:
        with pytest.raises(TokenRejected):
            accounts.whoami("nonsense")

    def test_revoked_token_is_rejected(self, host: GitLab, app: GitLabOAuth, accounts: GitLabAccounts) -> None:
        token = host.token("grace")
        app.revoke(token)
        with pytest.raises(TokenRejected):
            accounts.whoami(token)
        app.revoke(token)

    def test_repositories_are_paginated(self, host: GitLab, accounts: GitLabAccounts, tmp_path: Path) -> None:
        git = Plumbing(tmp_path / "git", {"a": b"a"})
        names = [f"team/p{number:03}" for number in range(120)]
        for name in names:
            host.add(name, git, "grace")
        host.add("others/p", git, "heidi")
        token, found, cursor = host.token("grace"), [], None
        for _ in range(9):
            page = accounts.repositories(token, search="P", cursor=cursor)
            found += [each.full_name for each in page.repositories]
            cursor = page.cursor
            if cursor is None:
                break
        assert found == names
