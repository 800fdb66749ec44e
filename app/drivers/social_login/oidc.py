"""OpenID Connect: the endpoints from discovery, the person from a signed ID token (OpenID Connect Core 1.0, 3.1.3.7)."""

import hmac
import time
from dataclasses import dataclass
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from app.drivers.errors import Broken, Rejected
from app.drivers.http import HttpClient
from app.drivers.social_login import code_flow
from app.drivers.social_login.port import Attempt, Identity

SCOPE = "openid email profile"
ALGORITHMS = ["RS256", "ES256"]
KEPT_S = 3600
LEEWAY_S = 60


@dataclass(frozen=True)
class Provider:
    """What discovery told, and the keys that sign."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    keys: KeySet
    read_at_s: float


class OidcLogin:
    """Signs people in at an OIDC issuer."""

    def __init__(self, client: code_flow.Client, *, issuer: str, http: HttpClient) -> None:
        self._client, self._issuer, self._http = client, issuer.rstrip("/"), http
        self._known: Provider | None = None

    def authorization_url(self, attempt: Attempt) -> str:
        """See the port."""
        endpoint = self._provider().authorization_endpoint
        return code_flow.grant_url(endpoint, self._client, SCOPE, attempt, nonce=attempt.nonce)

    def identify(self, code: str, attempt: Attempt) -> Identity:
        """See the port. Nothing is taken from the ID token before its signature and its claims have been checked."""
        endpoint = self._provider().token_endpoint
        token = code_flow.fetch_token(self._http, endpoint, self._client, code, attempt)
        claims = self._verified(token.get("id_token"), attempt.nonce)
        return Identity(
            str(claims["sub"]),
            code_flow.text_or_none(claims.get("email")),
            claims.get("email_verified") in (True, "true"),
            code_flow.text_or_none(claims.get("name")),
        )

    def _verified(self, id_token: object, nonce: str) -> dict[str, Any]:
        if not isinstance(id_token, str):
            raise Broken("The login provider sent no ID token")
        try:
            claims = self._decoded(id_token)
            jwt.JWTClaimsRegistry(
                leeway=LEEWAY_S,
                iss={"essential": True, "value": self._provider().issuer},
                aud={"essential": True, "value": self._client.id},
                sub={"essential": True},
                exp={"essential": True},
                iat={"essential": True},
            ).validate(claims)
        except (JoseError, ValueError) as error:
            raise Rejected("What the login provider says cannot be trusted", code="ID_TOKEN_REJECTED") from error
        party = claims.get("azp", self._client.id)
        if party != self._client.id or not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise Rejected("This answer belongs to another sign-in", code="ID_TOKEN_REJECTED")
        return claims

    def _decoded(self, id_token: str) -> dict[str, Any]:
        """The claims of a token with a good signature; keys are read again once, since providers change them."""
        try:
            return dict(jwt.decode(id_token, self._provider().keys, algorithms=ALGORITHMS).claims)
        except (JoseError, ValueError):
            fresh = self._provider(anew=True).keys
        return dict(jwt.decode(id_token, fresh, algorithms=ALGORITHMS).claims)

    def _provider(self, *, anew: bool = False) -> Provider:
        known = self._known
        if known is None or anew or time.monotonic() - known.read_at_s > KEPT_S:
            known = self._known = self._discovered()
        return known

    def _discovered(self) -> Provider:
        told = code_flow.fetch_json(self._http, f"{self._issuer}/.well-known/openid-configuration")
        if not isinstance(told, dict) or str(told.get("issuer", "")).rstrip("/") != self._issuer:
            raise Broken("The login provider's configuration belongs to another issuer")
        try:
            keys = KeySet.import_key_set(code_flow.fetch_json(self._http, str(told["jwks_uri"])))
            return Provider(
                str(told["issuer"]),
                str(told["authorization_endpoint"]),
                str(told["token_endpoint"]),
                str(told["jwks_uri"]),
                keys,
                time.monotonic(),
            )
        except (KeyError, TypeError, ValueError, JoseError) as error:
            raise Broken("The login provider's configuration is not whole") from error
