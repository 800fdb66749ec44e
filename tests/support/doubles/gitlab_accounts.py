"""Accounts of the GitLab double: users, and OAuth with PKCE and rotating refresh tokens."""

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.doubles.server import Call, Double, Reply, Stop, route

LIFE_S = 7200


@dataclass
class User:
    """A GitLab user."""

    id: int
    username: str
    name: str
    email: str


@dataclass
class Code:
    """The grant of an authorization code."""

    username: str
    redirect_uri: str
    challenge: str | None


class Accounts(Double):
    """Users, codes, tokens."""

    client_id, client_secret = "gitlab-client", "gitlab-secret"

    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        self.grants: dict[str, tuple[str, float]] = {}
        self.refreshing: dict[str, str] = {}
        self.codes: dict[str, Code] = {}
        super().__init__()

    def user(self, username: str) -> User:
        made = User(500 + len(self.users), username, f"{username.title()} Owner", f"{username}@mail.example.org")
        return self.users.setdefault(username, made)

    def token(self, username: str, *, lifetime_s: float = LIFE_S) -> str:
        self.user(username)
        token = secrets.token_hex(32)
        self.grants[token] = (username, time.time() + lifetime_s)
        return token

    def approve(self, authorize_url: str, username: str) -> str:
        """Consent as a user does, and return the code."""
        asked = parse_qs(urlsplit(authorize_url).query)
        assert asked["client_id"] == [self.client_id]
        assert asked["response_type"] == ["code"]
        assert asked.get("code_challenge_method", ["S256"]) == ["S256"]
        self.user(username)
        code = secrets.token_hex(16)
        self.codes[code] = Code(username, asked["redirect_uri"][0], asked.get("code_challenge", [None])[0])
        return code

    def me(self, call: Call) -> User:
        token = call.headers.get("Authorization", "").removeprefix("Bearer ")
        username, ends = self.grants.get(token, ("", 0.0))
        if ends < time.time():
            raise Stop(
                401, {"error": "invalid_token", "error_description": "Token is expired. You can either do re-auth"}
            )
        return self.users[username]

    @route("POST", "/oauth/token")
    def oauth_token(self, call: Call) -> Reply:
        form = call.data
        if (form.get("client_id"), form.get("client_secret")) != (self.client_id, self.client_secret):
            return Reply(401, {"error": "invalid_client", "error_description": "Client authentication failed."})
        with self.lock:
            username = self._by_refresh(form) if form["grant_type"] == "refresh_token" else self._by_code(form)
        if username is None:
            return Reply(400, {"error": "invalid_grant", "error_description": "The provided grant is invalid."})
        renewal = secrets.token_hex(32)
        self.refreshing[renewal] = username
        payload: dict[str, Any] = {"access_token": self.token(username), "token_type": "Bearer", "expires_in": LIFE_S}
        return Reply(200, payload | {"refresh_token": renewal, "scope": "api", "created_at": int(time.time())})

    def _by_refresh(self, form: dict[str, str]) -> str | None:
        return self.refreshing.pop(form["refresh_token"], None)

    def _by_code(self, form: dict[str, str]) -> str | None:
        code = self.codes.pop(form.get("code", ""), None)
        if code is None or code.redirect_uri != form.get("redirect_uri"):
            return None
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        return code.username if code.challenge in (None, proof) else None

    @route("POST", "/oauth/revoke")
    def oauth_revoke(self, call: Call) -> Reply:
        form = call.data
        if (form.get("client_id"), form.get("client_secret")) != (self.client_id, self.client_secret):
            return Reply(403, {"error": "unauthorized_client"})
        self.grants.pop(form["token"], None)
        self.refreshing.pop(form["token"], None)
        return Reply(200, {})

    @route("GET", "/api/v4/user")
    def whoami(self, call: Call) -> Reply:
        return Reply(200, {**vars(self.me(call)), "state": "active"})

    def paged(self, call: Call, found: list[Any]) -> Reply:
        """Return one page with the headers of GitLab."""
        page, size = int(call.one("page", "1")), min(100, int(call.one("per_page", "20")))
        more = page * size < len(found)
        headers = {"X-Page": str(page), "X-Next-Page": str(page + 1) if more else ""}
        if more:
            headers["Link"] = self.next_link(call, page=str(page + 1))
        return Reply(200, found[(page - 1) * size : page * size], headers)

    def next_link(self, call: Call, **changed: str) -> str:
        query = {**{name: values[0] for name, values in call.query.items()}, **changed}
        return f'<{self.url}{call.path}?{urlencode(query)}>; rel="next"'
