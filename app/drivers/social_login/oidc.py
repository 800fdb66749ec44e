"""OpenID Connect: endpoints from discovery, identity from a signed ID token (OpenID Connect Core 1.0, 3.1.3.7)."""

import hmac
import time
from dataclasses import dataclass

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from app.drivers.errors import UpstreamError, UpstreamRejected
from app.drivers.http.client import HttpClient
from app.drivers.social_login import code_flow
from app.drivers.social_login.port import AuthorizationRequest, Identity

SCOPE = "openid email profile"
ALGORITHMS = ["RS256", "ES256"]
METADATA_TTL_S = 3600
LEEWAY_S = 60


@dataclass(frozen=True)
class OidcMetadata:
    """The discovered metadata and the signing keys."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    keys: KeySet
    read_at_s: float


class OidcLogin:
    """A login at an OIDC issuer."""

    def __init__(self, client: code_flow.OAuthClient, *, issuer: str, http: HttpClient) -> None:
        self._client, self._issuer, self._http = client, issuer.rstrip("/"), http
        self._metadata: OidcMetadata | None = None

    def authorization_url(self, attempt: AuthorizationRequest) -> str:
        endpoint = self._provider().authorization_endpoint
        return code_flow.grant_url(endpoint, self._client, SCOPE, attempt, nonce=attempt.nonce)

    def identify(self, code: str, attempt: AuthorizationRequest) -> Identity:
        """Implement the port. The signature and the claims of the ID token are checked first."""
        endpoint = self._provider().token_endpoint
        token = code_flow.fetch_token(self._http, endpoint, self._client, code, attempt)
        claims = self._verified(token.get("id_token"), attempt.nonce)
        return Identity(
            str(claims["sub"]),
            code_flow.text_or_none(claims.get("email")),
            claims.get("email_verified") in (True, "true"),
            code_flow.text_or_none(claims.get("name")),
        )

    def _verified(self, id_token: object, nonce: str) -> dict[str, object]:
        if not isinstance(id_token, str):
            raise UpstreamError("The login provider returned no ID token")
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
            raise UpstreamRejected(
                "The ID token of the login provider is not valid", code="ID_TOKEN_REJECTED"
            ) from error
        party = claims.get("azp", self._client.id)
        if party != self._client.id or not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise UpstreamRejected("The ID token belongs to another sign-in", code="ID_TOKEN_REJECTED")
        return claims

    def _decoded(self, id_token: str) -> dict[str, object]:
        """Return the claims of a signed token. Unknown keys are read again once, because providers change them."""
        try:
            return dict(jwt.decode(id_token, self._provider().keys, algorithms=ALGORITHMS).claims)
        except (JoseError, ValueError):
            fresh = self._provider(refresh=True).keys
        return dict(jwt.decode(id_token, fresh, algorithms=ALGORITHMS).claims)

    def _provider(self, *, refresh: bool = False) -> OidcMetadata:
        metadata = self._metadata
        if metadata is None or refresh or time.monotonic() - metadata.read_at_s > METADATA_TTL_S:
            metadata = self._metadata = self._discovered()
        return metadata

    def _discovered(self) -> OidcMetadata:
        metadata = code_flow.fetch_json(self._http, f"{self._issuer}/.well-known/openid-configuration")
        if not isinstance(metadata, dict) or str(metadata.get("issuer", "")).rstrip("/") != self._issuer:
            raise UpstreamError("The configuration of the login provider names another issuer")
        try:
            keys = KeySet.import_key_set(code_flow.fetch_json(self._http, str(metadata["jwks_uri"])))
            return OidcMetadata(
                str(metadata["issuer"]),
                str(metadata["authorization_endpoint"]),
                str(metadata["token_endpoint"]),
                str(metadata["jwks_uri"]),
                keys,
                time.monotonic(),
            )
        except (KeyError, TypeError, ValueError, JoseError) as error:
            raise UpstreamError("The configuration of the login provider is incomplete") from error
