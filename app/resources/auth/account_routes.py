"""Passwords, sessions and the account of signed-in people, as better-auth names them (contract 4.2)."""

from collections.abc import Sequence
from typing import Any

from flask import Blueprint

from app.core.emails import email_key
from app.core.limits import InputLimits
from app.http import login
from app.http.configuration import settings
from app.http.endpoint import endpoint
from app.http.guards import public, verified
from app.http.scope import Scope
from app.models.login import Session
from app.resources.auth import passwords, preparation
from app.resources.auth.schemas import (
    ChangePassword,
    ChangePasswordBody,
    ForgetPassword,
    ForgetPasswordBody,
    ResetPassword,
    ResetPasswordBody,
    RevokeSession,
    RevokeSessionBody,
    UpdateUser,
    UpdateUserBody,
)
from app.resources.auth.views import (
    AccountView,
    ListedSession,
    PasswordChanged,
)
from app.resources.user import accounts, sessions
from app.resources.user import service as users
from app.resources.user.schemas import Status
from app.resources.user.sessions import Opened

blueprint = Blueprint("auth_account", __name__)
BYTES = InputLimits.auth_bytes
DONE = {"status": True}


def _forgot() -> str:
    return f"{settings().server.web_url}/forgot-password"


@blueprint.post("/forget-password")
@blueprint.post("/request-password-reset", endpoint="forget_password_alias")
@endpoint(
    guard=public("public+rate"), body=ForgetPassword, result=Status, prepare=preparation.forget_password,
    message="If the e-mail has an account, a link is on its way", max_bytes=BYTES, rate="forget_password",
)  # fmt: skip
def forget_password(_scope: Scope, body: ForgetPasswordBody, how: dict[str, Any]) -> dict[str, bool]:
    """Mail a link that lets the owner of the e-mail choose a new password."""
    return passwords.forget(email_key(body["email"]), **how)


@blueprint.post("/reset-password")
@endpoint(
    guard=public("public+token"), body=ResetPassword, result=Status, prepare=preparation.reset_password,
    message="Password changed", max_bytes=BYTES, rate="reset",
)  # fmt: skip
def reset_password(
    _scope: Scope, _body: ResetPasswordBody, prepared: tuple[tuple[str, str | None], str]
) -> dict[str, bool]:
    """Set a new password with a mailed token."""
    return passwords.reset(*prepared, link=_forgot())


@blueprint.post("/change-password")
@endpoint(
    guard=verified(), body=ChangePassword, result=PasswordChanged, prepare=preparation.change_password,
    message="Password changed", max_bytes=BYTES,
)  # fmt: skip
def change_password(scope: Scope, body: ChangePasswordBody, hashes: tuple[str | None, str]) -> Opened:
    """Change the password; the present session gets a new token."""
    others, limits = body["revoke_others"], settings().limits.sessions
    return login.admit(
        passwords.change(scope.actor, scope.session, hashes, revoke_others=others, limits=limits, link=_forgot())
    )


@blueprint.get("/list-sessions")
@endpoint(guard=verified(), result=ListedSession, many=True, message="Sessions")
def list_sessions(scope: Scope) -> Sequence[Session]:
    """List the caller's sessions."""
    return sessions.of_user(scope.actor.id)


@blueprint.post("/revoke-session")
@endpoint(guard=verified(), body=RevokeSession, result=Status, message="Session ended", max_bytes=BYTES)
def revoke_session(scope: Scope, body: RevokeSessionBody) -> dict[str, bool]:
    """End one of the caller's sessions."""
    sessions.end(scope.actor.id, body["token"])
    return DONE


@blueprint.post("/revoke-other-sessions")
@endpoint(guard=verified(), result=Status, message="Other sessions ended", max_bytes=BYTES)
def revoke_other_sessions(scope: Scope) -> dict[str, bool]:
    """End every session of the caller but this."""
    sessions.end_all(scope.actor.id, but=scope.session.id)
    return DONE


@blueprint.post("/revoke-sessions")
@endpoint(guard=verified(), result=Status, message="All sessions ended", max_bytes=BYTES)
def revoke_sessions(scope: Scope) -> dict[str, bool]:
    """End every session of the caller."""
    sessions.end_all(scope.actor.id)
    return login.dismiss(DONE)


@blueprint.get("/list-accounts")
@endpoint(guard=verified(), result=AccountView, many=True, message="Accounts")
def list_accounts(scope: Scope) -> list[accounts.WayIn]:
    """List the caller's ways to sign in."""
    return accounts.ways_in(scope.actor)


@blueprint.post("/update-user")
@endpoint(guard=verified(), body=UpdateUser, result=Status, message="User updated", max_bytes=BYTES)
def update_user(scope: Scope, body: UpdateUserBody) -> dict[str, bool]:
    """Change the caller's name or picture."""
    users.update(scope.actor, body)
    return DONE
