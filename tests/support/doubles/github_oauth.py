"""Accounts of the GitHub double: the app and its installations, users, codes and tokens."""

import base64
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from tests.support.doubles.server import Call, Double, Reply, Stop, route

USER_S, REFRESH_S, INSTALLATION_S = 28800, 15897600, 3600
BAD = {"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"}


@dataclass
class Account:
    """A user or organization."""

    id: int
    login: str
    name: str


@dataclass
class Installation:
    """An installation of the app with its repositories."""

    id: int
    account: Account
    repositories: set[str] = field(default_factory=set)


@dataclass
class Grant:
    """The owner of a token."""

    kind: str
    login: str
    installation: int | None
    expires_at: float
    repositories: set[str] | None = None


class Accounts(Double):
    """Users, installations, tokens."""

    app_id, app_slug, client_id, client_secret = "4711", "galley-test", "Iv1.client", "client-secret"
    key = RSAKey.generate_key(2048, private=True)

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.installations: dict[int, Installation] = {}
        self.grants: dict[str, Grant] = {}
        self.codes: dict[str, str] = {}
        self.refreshing: dict[str, str] = {}
        self.expiring = True
        self.installation_s = INSTALLATION_S
        super().__init__()

    @property
    def private_key(self) -> str:
        return self.key.as_pem(private=True).decode()

    def account(self, login: str) -> Account:
        return self.accounts.setdefault(login, Account(1000 + len(self.accounts), login, login.title()))

    def install(self, login: str, *repositories: str) -> Installation:
        made = Installation(90 + len(self.installations), self.account(login), set(repositories))
        self.installations[made.id] = made
        return made

    def approve(self, login: str) -> str:
        """Consent as a user does, and return the code."""
        self.account(login)
        code = secrets.token_hex(10)
        self.codes[code] = login
        return code

    def user_token(self, login: str, *, lifetime_s: float = USER_S) -> str:
        token = f"ghu_{secrets.token_hex(18)}"
        self.account(login)
        self.grants[token] = Grant("user", login, None, time.time() + lifetime_s)
        return token

    def installation_token(self, number: int, repositories: set[str] | None = None) -> str:
        token = f"ghs_{secrets.token_hex(18)}"
        login = f"{self.app_slug}[bot]"
        self.grants[token] = Grant("installation", login, number, time.time() + self.installation_s, repositories)
        return token

    def grant_of(self, call: Call) -> Grant:
        token = call.headers.get("Authorization", "").removeprefix("Bearer ")
        grant = self.grants.get(token)
        if grant is None or grant.expires_at < time.time():
            raise Stop(401, BAD)
        return grant

    @route("POST", "/login/oauth/access_token")
    def exchange(self, call: Call) -> Reply:
        form = call.data
        if (form.get("client_id"), form.get("client_secret")) != (self.client_id, self.client_secret):
            return Reply(
                200, {"error": "incorrect_client_credentials", "error_description": "The client_id is incorrect."}
            )
        refresh = form.get("grant_type") == "refresh_token"
        with self.lock:
            login = (
                self.refreshing.pop(form["refresh_token"], None) if refresh else self.codes.pop(form.get("code"), None)
            )
        if login is None:
            error = "bad_refresh_token" if refresh else "bad_verification_code"
            return Reply(
                200, {"error": error, "error_description": "The code or token passed is incorrect or expired."}
            )
        payload: dict[str, Any] = {"access_token": self.user_token(login), "token_type": "bearer", "scope": ""}
        if self.expiring:
            renewal = f"ghr_{secrets.token_hex(30)}"
            self.refreshing[renewal] = login
            payload |= {"expires_in": USER_S, "refresh_token": renewal, "refresh_token_expires_in": REFRESH_S}
        return Reply(200, payload)

    @route("POST", "/api/app/installations/{number}/access_tokens")
    def installation_tokens(self, call: Call, number: str) -> Reply:
        self._check_app(call)
        installation = self.installations.get(int(number))
        if installation is None:
            return Reply(404, {"message": "Not Found"})
        data = call.data if call.body else {}
        names = {f"{installation.account.login}/{name}" for name in data.get("repositories", [])}
        names = names | {self.name_of(number) for number in data.get("repository_ids", [])} or None
        if names and not names <= installation.repositories:
            return Reply(422, {"message": "There is at least one repository that does not exist or is not accessible"})
        ends = datetime.fromtimestamp(time.time() + self.installation_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        payload = {"token": self.installation_token(int(number), names), "expires_at": ends, "permissions": {}}
        return Reply(201, payload | {"repository_selection": "selected"})

    def name_of(self, number: int) -> str:
        """Return the name of a repository by its id."""
        raise NotImplementedError

    def _check_app(self, call: Call) -> None:
        text = call.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            claims = jwt.decode(text, self.key, algorithms=["RS256"]).claims
        except (JoseError, ValueError) as fault:
            raise Stop(401, {"message": "A JSON web token could not be decoded"}) from fault
        now = time.time()
        if str(claims["iss"]) not in (self.app_id, self.client_id):
            raise Stop(401, {"message": "Integration not found"})
        if not (claims["iat"] <= now + 1 and now < claims["exp"] <= now + 600):
            raise Stop(401, {"message": "'Expiration time' claim ('exp') is too far in the future"})

    @route("GET", "/api/user")
    def user(self, call: Call) -> Reply:
        grant = self.grant_of(call)
        if grant.kind != "user":
            return Reply(403, {"message": "Resource not accessible by integration"})
        me = self.accounts[grant.login]
        return Reply(200, {"id": me.id, "login": me.login, "name": me.name, "type": "User"})

    @route("GET", "/api/user/installations")
    def user_installations(self, call: Call) -> Reply:
        grant = self.grant_of(call)
        seen = [each for each in self.installations.values() if self.sees(grant.login, each)]
        page, size = call.page()
        told = [
            {"id": each.id, "account": vars(each.account), "app_slug": self.app_slug, "app_id": int(self.app_id)}
            for each in seen
        ]
        return self.paged(call, told, page, size, items="installations")

    def sees(self, login: str, installation: Installation) -> bool:
        return installation.account.login == login

    def paged(self, call: Call, found: list[Any], page: int, size: int, *, items: str | None = None) -> Reply:
        """Return one page of a list with the Link header of GitHub."""
        part = found[(page - 1) * size : page * size]
        headers = {}
        if page * size < len(found):
            url = f"{self.url}{call.path}?" + "&".join(
                f"{name}={value[0]}" for name, value in {**call.query, "page": [str(page + 1)]}.items()
            )
            headers["Link"] = f'<{url}>; rel="next", <{url}>; rel="last"'
        return Reply(200, {"total_count": len(found), items: part} if items else part, headers)

    @route("DELETE", "/api/applications/{client}/token")
    def revoke(self, call: Call, client: str) -> Reply:
        basic = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        if client != self.client_id or call.headers.get("Authorization") != f"Basic {basic}":
            return Reply(401, BAD)
        return Reply(204) if self.grants.pop(call.data["access_token"], None) else Reply(404, {"message": "Not Found"})

    @route("DELETE", "/api/installation/token")
    def revoke_installation(self, call: Call) -> Reply:
        self.grant_of(call)
        self.grants.pop(call.headers["Authorization"].removeprefix("Bearer "))
        return Reply(204)
