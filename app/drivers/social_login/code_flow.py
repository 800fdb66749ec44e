"""The authorization code flow with PKCE S256 (RFC 6749, 4.1; RFC 7636), which both kinds of provider speak."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge as _challenge

from app.drivers.errors import Broken, Rejected
from app.drivers.http import Answer, HttpClient
from app.drivers.social_login.port import Attempt

BODY_BYTES = 256 * 1024
SERVER_ERROR = 500


@dataclass(frozen=True)
class Client:
    """What we are known as at the provider."""

    id: str
    secret: str = field(repr=False)


def grant_url(endpoint: str, client: Client, scope: str, attempt: Attempt, **more: str) -> str:
    """The address at which the person is asked."""
    address: str = prepare_grant_uri(
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
    return address


def fetch_token(http: HttpClient, endpoint: str, client: Client, code: str, attempt: Attempt) -> Mapping[str, Any]:
    """What the provider gives for the code.

    Raises:
        Rejected: it does not take the code.
        Absent, Late, Broken: it cannot be asked.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "client_id": client.id,
        "client_secret": client.secret,
        "code_verifier": attempt.code_verifier,
    }
    answer = http.send("POST", endpoint, form=form, headers={"Accept": "application/json"}, max_bytes=BODY_BYTES)
    if answer.status >= SERVER_ERROR:
        raise Broken("The login provider is not working")
    token = _object(answer)
    # GitHub reports a refused code with status 200.
    if answer.status >= 400 or "error" in token or not isinstance(token.get("access_token"), str):
        raise Rejected("The login provider does not take this code", code="CODE_REJECTED")
    return token


def fetch_json(http: HttpClient, url: str, access_token: str | None = None) -> Any:
    """Read something the provider tells, to whoever asks or to the holder of a token.

    Raises:
        Rejected: it does not take the token.
        Absent, Late, Broken: it cannot be asked.
    """
    headers = {"Accept": "application/json"}
    if access_token is not None:
        headers["Authorization"] = f"Bearer {access_token}"
    answer = http.send("GET", url, headers=headers, max_bytes=BODY_BYTES)
    if answer.status in (401, 403):
        raise Rejected("The login provider does not take its own token", code="CODE_REJECTED")
    if answer.status != 200:
        raise Broken("The login provider is not working")
    return answer.json()


def _object(answer: Answer) -> Mapping[str, Any]:
    value = answer.json()
    if not isinstance(value, dict):
        raise Broken("The login provider answered with something unexpected")
    return value


def text_or_none(value: object) -> str | None:
    """A string that says something."""
    return value.strip() or None if isinstance(value, str) else None
