"""Authentication and authorization of Git requests: an API token in Basic authentication, or as a bearer token."""

import base64
import binascii
from dataclasses import dataclass
from wsgiref.types import WSGIEnvironment

from flask import Request

from app.access.authentication import update_activity
from app.access.client_address import client_address, network_of
from app.access.tokens import caller_of_api_token
from app.core.api_tokens import TokenGrant, TokenScope
from app.core.errors import EmailNotVerified, SecondFactorRequired
from app.drivers.git.hosts import GitService
from app.extensions import current_settings, limiter
from app.git_http.responses import GitRefusal, missing, not_authenticated
from app.resources.git_push import service
from app.resources.git_push.addresses import clone_url
from app.resources.git_push.service import ServedProject
from app.security.secrets import KNOWN_PREFIX

BASIC, BEARER = "basic", "bearer"
FAILURES = "git_failures_address"


@dataclass(frozen=True)
class GitCaller:
    """The owner of the API token of a request, and the rights of the token."""

    token: str
    user_id: str
    grant: TokenGrant


def token_of(environ: WSGIEnvironment) -> str | None:
    """Return the token of the request, which is empty in a malformed header. None if there is no such header.

    It is the password, or the user name if only that one looks like a token: `TOKEN:x-oauth-basic`.
    """
    header: str = environ.get("HTTP_AUTHORIZATION", "")
    scheme, _, value = header.strip().partition(" ")
    if scheme.lower() == BEARER:
        return value.strip()
    if scheme.lower() != BASIC:
        return None
    try:
        user, _, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    return user if user.startswith(KNOWN_PREFIX) and not password.startswith(KNOWN_PREFIX) else password


def authenticate(environ: WSGIEnvironment, *, is_write: bool) -> GitCaller:
    """Return the caller of a request, in the running application context.

    A Git client sends its first request without a token. This request is not counted.

    Raises:
        GitRefusal: the token is missing or not valid, or a rate is used up.
    """
    token = token_of(environ)
    if token is None:
        raise not_authenticated()
    rates = current_settings().limits.rates
    hops = current_settings().server.trusted_hops
    address = network_of(client_address(Request(environ), trusted_hops=hops))
    _require_rate(limiter.wait_s(rates.git_failures_address, FAILURES, address))
    caller = find_caller(token)
    if caller is None:
        _require_rate(limiter.try_acquire(rates.git_failures_address, FAILURES, address))
        raise not_authenticated("The API token is not valid. Create or rotate a token")
    _require_rate(limiter.try_acquire(rates.token, "token", caller.grant.id))
    if is_write:
        _require_rate(limiter.try_acquire(rates.token_writes, "token_writes", caller.grant.id))
    return caller


def find_caller(token: str) -> GitCaller | None:
    """Return the caller of a valid token, or None.

    Raises:
        GitRefusal: the e-mail address of the owner is not verified, or an organization requires a second factor.
    """
    caller = caller_of_api_token(token)
    if caller is None or caller.grant is None:
        return None
    if not caller.email_verified:
        raise GitRefusal(403, EmailNotVerified.message)
    if caller.needs_second_factor:
        raise GitRefusal(403, SecondFactorRequired.message)
    update_activity(caller)
    return GitCaller(token, caller.id, caller.grant)


def _require_rate(wait_s: int) -> None:
    if wait_s:
        raise GitRefusal(429, "Too many requests. Try again later", {"Retry-After": str(wait_s)})


def authorize(caller: GitCaller, repository: str, git_service: GitService) -> tuple[ServedProject, ...]:
    """Return the projects of a repository if the caller may use the service, in the running application context.

    Raises:
        GitRefusal: the repository does not exist for the caller, or the token may not read or change it.
    """
    projects = service.projects_of(repository, user_id=caller.user_id, grant=caller.grant)
    if not projects:
        raise _remote_address(caller, repository)
    if git_service is GitService.UPLOAD:
        _require_scope(caller.grant, TokenScope.READ)
        return projects
    _require_scope(caller.grant, TokenScope.WRITE, TokenScope.PUBLISH)
    if all(project.is_archived for project in projects):
        raise GitRefusal(403, "The project is archived. It is read-only")
    return projects


def _require_scope(grant: TokenGrant, *scopes: TokenScope) -> None:
    if not grant.scopes & set(scopes):
        names = " or ".join(sorted(scopes))
        raise GitRefusal(403, f"The API token needs the scope {names}")


def _remote_address(caller: GitCaller, repository: str) -> GitRefusal:
    """Return the refusal for a repository of another host, with its clone address if the caller reaches a project."""
    remote = service.remote_of(repository, user_id=caller.user_id, grant=caller.grant)
    if remote is None:
        return missing()
    provider, name = remote
    text = f"This repository is not stored here. Clone it from {clone_url(provider, name, current_settings())}"
    return GitRefusal(404, text)
