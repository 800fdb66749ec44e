"""Authorization code flow with PKCE S256 (RFC 6749, 4.1, and RFC 7636)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge as _challenge

from app.drivers.errors import UpstreamError, UpstreamRejected
from app.drivers.http.client import HttpClient, HttpResponse
from app.drivers.social_login.port import AuthorizationRequest

BODY_BYTES = 256 * 1024
SERVER_ERROR = 500


@dataclass(frozen=True)
class OAuthClient:
    """The client id and secret at the provider."""

    id: str
    secret: str = field(repr=False)


def grant_url(endpoint: str, client: OAuthClient, scope: str, attempt: AuthorizationRequest, **more: str) -> str:
    """Return the URL of the authorization request."""
    url: str = prepare_grant_uri(
        endpoint,
        client_id=client.id,
        response_type="code",
        redirect_uri=attempt.redirect_uri,
        scope=scope,
        state=attempt.state,
        code_challenge=_challenge(attempt.code_verifier),  # type: ignore[no-untyped-call]
        code_challenge_method="S256",
        **more,
    )
    return url


def fetch_token(
    http: HttpClient, endpoint: str, client: OAuthClient, code: str, attempt: AuthorizationRequest
) -> Mapping[str, Any]:
    """Exchange a code for the token response.

    Raises:
        UpstreamRejected: the provider refuses the code.
        UpstreamUnavailable, UpstreamTimeout, UpstreamError: the provider cannot be called.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "client_id": client.id,
        "client_secret": client.secret,
        "code_verifier": attempt.code_verifier,
    }
    response = http.send("POST", endpoint, form=form, headers={"Accept": "application/json"}, max_bytes=BODY_BYTES)
    if response.status >= SERVER_ERROR:
        raise UpstreamError("The login provider responded with an error")
    token = _object(response)
    # GitHub reports a refused code with status 200.
    if response.status >= 400 or "error" in token or not isinstance(token.get("access_token"), str):
        raise UpstreamRejected("The login provider rejected the authorization code", code="CODE_REJECTED")
    return token


def fetch_json(http: HttpClient, url: str, access_token: str | None = None) -> Any:
    """Read JSON from the provider, with or without a token.

    Raises:
        UpstreamRejected: the provider refuses the token.
        UpstreamUnavailable, UpstreamTimeout, UpstreamError: the provider cannot be called.
    """
    headers = {"Accept": "application/json"}
    if access_token is not None:
        headers["Authorization"] = f"Bearer {access_token}"
    response = http.send("GET", url, headers=headers, max_bytes=BODY_BYTES)
    if response.status in (401, 403):
        raise UpstreamRejected("The login provider rejected the token that it issued", code="CODE_REJECTED")
    if response.status != 200:
        raise UpstreamError("The login provider responded with an error")
    return response.json()


def _object(response: HttpResponse) -> Mapping[str, object]:
    value = response.json()
    if not isinstance(value, dict):
        raise UpstreamError("The login provider returned an invalid response")
    return value


def text_or_none(value: object) -> str | None:
    """Return a string without surrounding white space, or None for an empty or other value."""
    return value.strip() or None if isinstance(value, str) else None
