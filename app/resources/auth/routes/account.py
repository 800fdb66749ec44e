"""Routes for passwords, sessions and the account of the caller, with the names of better-auth (contract 4.2)."""

from collections.abc import Sequence
from typing import Any

from app.access import authentication
from app.access.guards import public, verified
from app.access.scope import Scope
from app.core.emails import email_key
from app.core.limits import InputLimits
from app.extensions import current_settings
from app.http import rate_limits
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.login import Session
from app.resources.auth import one_time_codes, passwords, service
from app.resources.auth.schemas import (
    AccountSchema,
    ChangePasswordBody,
    ForgetPasswordBody,
    ListedSessionSchema,
    PasswordChangedSchema,
    ResetPasswordBody,
    RevokeSessionBody,
    UpdateUserBody,
)
from app.resources.user import service as users
from app.resources.user import sessions
from app.resources.user.guards import compare_password
from app.resources.user.mail import language_at
from app.resources.user.passwords import check_new, hashed
from app.resources.user.schemas import StatusSchema
from app.resources.user.sessions import OpenedSession

BYTES = InputLimits.auth_bytes
DONE = {"status": True}


def plan_reset_mail(scope: Scope, body: ForgetPasswordBody) -> dict[str, object]:
    """Return the page of the link, the language of the mail and whether the rate allows a mail.

    Raises:
        InvalidRedirect: the page is outside the allowed origins.
    """
    server = current_settings().server
    page = passwords.resolve_redirect(
        body.redirect_to,
        web_url=server.web_url,
        origins=server.allowed_origins,
        otherwise=passwords.RESET_PAGE,
    )
    key = email_key(body.email)
    language = language_at(key, authentication.client_info().language)
    return {
        "page": page,
        "is_token_in_query": bool(body.redirect_to),
        "language": language,
        "may_mail": rate_limits.try_count("forget_password", key),
    }


def hash_reset(scope: Scope, body: ResetPasswordBody) -> tuple[tuple[str, str | None], str]:
    """Return the row and the hash of the token, and the hash of the new password.

    Raises:
        InvalidToken: the token is not valid.
        InvalidRequest: the password is too easy to guess.
    """
    row = one_time_codes.find_reset(body.token)
    check_new(body.new_password, service.find_owner(row))
    return (row.id, row.code_hash), hashed(body.new_password)


def hash_change(scope: Scope, body: ChangePasswordBody) -> tuple[str | None, str]:
    """Return the hash with which the current password was compared, and the hash of the new password.

    Raises:
        InvalidPassword: the current password is wrong or not set.
    """
    stored = scope.user.password_hash
    compare_password(scope.user, body.current_password)
    check_new(body.new_password, scope.user)
    return stored, hashed(body.new_password)


blueprint = ApiBlueprint(
    "auth_account",
    __name__,
    title="Passwords and sessions",
    description="Change and reset of passwords, list and end of sessions.",
)


def _forgot() -> str:
    return f"{current_settings().server.web_url}/forgot-password"


@blueprint.post("/forget-password")
@blueprint.post("/request-password-reset", endpoint="forget_password_alias")
@endpoint(
    guard=public("public+rate"),
    body=ForgetPasswordBody,
    result=StatusSchema,
    upstream=plan_reset_mail,
    message="If the e-mail address has an account, a link was sent",
    max_bytes=BYTES,
    rate="forget_password",
    errors=("INVALID_REDIRECT",),
)
def forget_password(*, scope: Scope, body: ForgetPasswordBody, prepared: dict[str, Any]) -> dict[str, bool]:
    """Mail a link with which the owner of the e-mail address chooses a new password."""
    return passwords.enqueue_reset_mail(email_key(body.email), **prepared)


@blueprint.post("/reset-password")
@endpoint(
    guard=public("public+token"),
    body=ResetPasswordBody,
    result=StatusSchema,
    upstream=hash_reset,
    message="Password changed",
    max_bytes=BYTES,
    rate="reset",
    errors=(
        "INVALID_TOKEN",
        "CONFLICT",
    ),
)
def reset_password(
    *, scope: Scope, body: ResetPasswordBody, prepared: tuple[tuple[str, str | None], str]
) -> dict[str, bool]:
    """Set a new password with a mailed token."""
    return passwords.reset(*prepared, link=_forgot())


@blueprint.post("/change-password")
@endpoint(
    guard=verified(),
    body=ChangePasswordBody,
    result=PasswordChangedSchema,
    upstream=hash_change,
    message="Password changed",
    max_bytes=BYTES,
    errors=(
        "INVALID_PASSWORD",
        "CONFLICT",
    ),
)
def change_password(*, scope: Scope, body: ChangePasswordBody, prepared: tuple[str | None, str]) -> OpenedSession:
    """Change the password. The current session gets a new token."""
    others, limits = body.revoke_others, current_settings().limits.sessions
    return authentication.set_session_cookie(
        passwords.change(scope.user, scope.session, prepared, revoke_others=others, limits=limits, link=_forgot())
    )


@blueprint.get("/list-sessions")
@endpoint(guard=verified(), result=ListedSessionSchema, many=True, without_envelope=True, message="Sessions")
def list_sessions(*, scope: Scope) -> Sequence[Session]:
    """List the caller's sessions."""
    return sessions.of_user(scope.user.id)


@blueprint.post("/revoke-session")
@endpoint(guard=verified(), body=RevokeSessionBody, result=StatusSchema, message="Session ended", max_bytes=BYTES)
def revoke_session(*, scope: Scope, body: RevokeSessionBody) -> dict[str, bool]:
    """End one of the caller's sessions."""
    sessions.end(scope.user.id, body.token)
    return DONE


@blueprint.post("/revoke-other-sessions")
@endpoint(guard=verified(), result=StatusSchema, message="Other sessions ended", max_bytes=BYTES)
def revoke_other_sessions(*, scope: Scope) -> dict[str, bool]:
    """End all sessions of the caller except the current one."""
    sessions.end_all(scope.user.id, but=scope.session.id)
    return DONE


@blueprint.post("/revoke-sessions")
@endpoint(guard=verified(), result=StatusSchema, message="All sessions ended", max_bytes=BYTES)
def revoke_sessions(*, scope: Scope) -> dict[str, bool]:
    """End all sessions of the caller."""
    sessions.end_all(scope.user.id)
    return authentication.clear_session_cookie(DONE)


@blueprint.get("/list-accounts")
@endpoint(guard=verified(), result=AccountSchema, many=True, without_envelope=True, message="Accounts")
def list_accounts(*, scope: Scope) -> list[users.SignInMethod]:
    """List the sign-in methods of the caller."""
    return users.sign_in_methods(scope.user)


@blueprint.post("/update-user")
@endpoint(
    guard=verified(),
    body=UpdateUserBody,
    result=StatusSchema,
    message="User updated",
    max_bytes=BYTES,
    errors=("NOT_FOUND", "NOT_ALLOWED"),
)
def update_user(*, scope: Scope, body: UpdateUserBody) -> dict[str, bool]:
    """Change the name or the image of the caller."""
    users.update(scope.user, body.sent())
    return DONE
