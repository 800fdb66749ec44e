"""Doubles of two login providers on loopback with PKCE: OAuth 2 of GitHub below /a, an OIDC issuer below /b."""

import base64
import hashlib
import json
import secrets
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENTS = {"a": ("client-a", "secret-a"), "b": ("client-b", "secret-b")}


@cache
def _key(number: int) -> RSAKey:
    """Return a key that all doubles share, because key generation is slow."""
    return RSAKey.generate_key(2048, {"kid": f"key-{number}", "use": "sig", "alg": "RS256"})


@dataclass
class Grant:
    """The consent of a user at the provider."""

    asked: dict[str, str]
    email: str | None
    verified: bool
    name: str
    subject: int
    claims: dict[str, Any] = field(default_factory=dict)


class SocialDouble(ThreadingHTTPServer):
    """Start with `with SocialDouble() as double:`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.base = f"http://127.0.0.1:{self.server_address[1]}"
        self.codes: dict[str, Grant] = {}
        self.tokens: dict[str, Grant] = {}
        self.calls: list[str] = []
        self.fault: int | None = None
        self._keys = 0
        self.new_key()

    def __enter__(self) -> "SocialDouble":
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """Return the settings of an application that uses this double."""
        return {
            "SOCIAL_A_CLIENT_ID": "client-a",
            "SOCIAL_A_CLIENT_SECRET": "secret-a",
            "SOCIAL_A_URL": f"{self.base}/a",
            "SOCIAL_A_API_URL": f"{self.base}/a/api",
            "SOCIAL_B_CLIENT_ID": "client-b",
            "SOCIAL_B_CLIENT_SECRET": "secret-b",
            "SOCIAL_B_ISSUER": f"{self.base}/b",
        }

    def new_key(self) -> None:
        """Replace the signing key."""
        self._keys += 1
        self.key = self.signing = _key(self._keys)

    def approve(
        self, url: str, email: str | None, *, verified: bool = True, subject: int | None = None, **claims: Any
    ) -> dict[str, str]:
        """Give consent at the authorization URL and return the query of the callback."""
        parts = urlsplit(url)
        asked = dict(parse_qsl(parts.query))
        letter = parts.path.split("/")[1]
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENTS[letter][0]
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        name = claims.get("name", "Social Person")
        self.codes[code] = Grant(asked, email, verified, name, subject or secrets.randbelow(10**9), claims)
        return {"code": code, "state": asked["state"]}

    def exchange(self, letter: str, form: dict[str, str]) -> str | None:
        """Exchange a code once for an access token. Return None for a wrong client or verifier."""
        grant = self.codes.pop(form.get("code", ""), None)
        if grant is None or (form.get("client_id"), form.get("client_secret")) != CLIENTS[letter]:
            return None
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenge != grant.asked["code_challenge"] or form.get("redirect_uri") != grant.asked["redirect_uri"]:
            return None
        token = secrets.token_urlsafe(16)
        self.tokens[token] = grant
        return token

    def id_token(self, grant: Grant) -> str:
        """Return a signed ID token. `claims` of the grant have priority; None removes a claim."""
        now = int(time.time())
        claims = {
            "iss": f"{self.base}/b",
            "aud": "client-b",
            "sub": str(grant.subject),
            "iat": now,
            "exp": now + 600,
            "nonce": grant.asked.get("nonce"),
            "email": grant.email,
            "email_verified": grant.verified,
            "name": grant.name,
        } | grant.claims
        values = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode({"alg": "RS256", "kid": self.key.kid or ""}, values, self.signing)


class _Handler(BaseHTTPRequestHandler):
    server: SocialDouble

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()))
        if self._noted():
            return
        letter = self.path.split("/")[1]
        token = self.server.exchange(letter, form)
        if letter == "a":
            payload = {"access_token": token, "token_type": "bearer", "scope": "read:user,user:email"}
            self._answer(payload if token else {"error": "bad_verification_code"})
        elif token:
            payload = {"access_token": token, "token_type": "Bearer", "expires_in": 3600}
            self._answer(payload | {"id_token": self.server.id_token(self.server.tokens[token])})
        else:
            self._answer({"error": "invalid_grant"}, 400)

    def do_GET(self) -> None:
        if self._noted():
            return None
        base = f"{self.server.base}/b"
        path = urlsplit(self.path).path
        if path == "/b/.well-known/openid-configuration":
            endpoints = {"authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token"}
            return self._answer({"issuer": base, "jwks_uri": f"{base}/jwks", **endpoints})
        if path == "/b/jwks":
            return self._answer({"keys": [self.server.key.as_dict(private=False)]})
        grant = self.server.tokens.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
        if grant is None:
            return self._answer({"message": "Bad credentials"}, 401)
        if path == "/a/api/user":
            return self._answer({"id": grant.subject, "login": f"u{grant.subject}", "name": grant.name, "email": None})
        other = {"email": "other@mail.example.org", "verified": True, "primary": False}
        mine = {"email": grant.email, "verified": grant.verified, "primary": True}
        return self._answer([other, mine] if grant.email else [other])

    def _noted(self) -> bool:
        self.server.calls.append(self.path)
        if self.server.fault is not None:
            self._answer({"message": "out of order"}, self.server.fault)
        return self.server.fault is not None

    def _answer(self, data: object, status: int = 200) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
