"""Routes for passwords, sessions and the account of the caller, with the names of better-auth (contract 4.2)."""

from collections.abc import Sequence

from app.access import authentication
from app.access.guards import verified
from app.access.scope import Scope
from app.core.limits import InputLimits
from app.core.outbound import UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.login import Session
from app.resources.auth import actions, guards, responses
from app.resources.auth.schemas import (
    AccountSchema,
    ChangePasswordBody,
    ForgetPasswordBody,
    ListedSessionSchema,
    PasswordChangedSchema,
    ReauthenticateBody,
    ResetPasswordBody,
    RevokeSessionBody,
    UpdateUserBody,
)
from app.resources.user import service as users
from app.resources.user import sessions
from app.resources.user.actions import set_password
from app.resources.user.schemas import StatusSchema

BYTES = InputLimits.auth_bytes
DONE = {"status": True}


blueprint = ApiBlueprint(
    "auth_account",
    __name__,
    title="Passwords and sessions",
    description="Change and reset of passwords, list and end of sessions.",
)


@blueprint.post("/forget-password")
@blueprint.post("/request-password-reset", endpoint="forget_password_alias")
@endpoint(
    **vars(guards.FORGET_PASSWORD),
    body=ForgetPasswordBody,
    result=StatusSchema,
    message="If the e-mail address has an account, a link was sent",
    max_bytes=BYTES,
    errors=("INVALID_REDIRECT",),
)
def forget_password(*, scope: Scope, body: ForgetPasswordBody) -> UnrecordedAct[dict[str, bool]]:
    """Mail a link with which the owner of the e-mail address chooses a new password."""
    return actions.mail_reset_link(body.email, body.redirect_to)


@blueprint.post("/reset-password")
@endpoint(
    **vars(guards.RESET_PASSWORD),
    body=ResetPasswordBody,
    result=StatusSchema,
    message="Password changed",
    max_bytes=BYTES,
    errors=("INVALID_TOKEN", "CONFLICT"),
)
def reset_password(*, scope: Scope, body: ResetPasswordBody) -> UnrecordedAct[dict[str, bool]]:
    """Set a new password with a mailed token."""
    return actions.reset_password(body.token, body.new_password)


@blueprint.post("/change-password")
@endpoint(
    guard=verified(),
    body=ChangePasswordBody,
    result=PasswordChangedSchema,
    outside=True,
    message="Password changed",
    max_bytes=BYTES,
    errors=("INVALID_PASSWORD", "CONFLICT"),
)
def change_password(*, scope: Scope, body: ChangePasswordBody) -> UnrecordedAct[dict[str, object]]:
    """Change the password. The current session gets a new token."""
    return set_password(scope.user, scope.session, **vars(body), is_change=True)


@blueprint.post("/reauthenticate")
@endpoint(
    **vars(guards.REAUTHENTICATE),
    body=ReauthenticateBody,
    result=StatusSchema,
    message="Identity confirmed",
    operation_id="verifyIdentity",
    max_bytes=BYTES,
    errors=(
        *("INVALID_PASSWORD", "CONFLICT", "INVALID_CODE", "TOTP_NOT_ENABLED", "ACCOUNT_TEMPORARILY_LOCKED"),
        *("CHALLENGE_NOT_FOUND", "401 PASSKEY_NOT_FOUND", "AUTHENTICATION_FAILED"),
    ),
)
def reauthenticate(*, scope: Scope, body: ReauthenticateBody) -> UnrecordedAct[dict[str, bool]]:
    """Prove the identity again, for changes that need a recent proof. It counts for ten minutes in this session."""
    return actions.reauthenticate(scope.user, scope.session, **vars(body), browser=responses.browser_secret() or "")


@blueprint.get("/list-sessions")
@endpoint(guard=verified(), result=ListedSessionSchema, many=True, without_envelope=True, message="Sessions")
def list_sessions(*, scope: Scope) -> Sequence[Session]:
    """List the caller's sessions."""
    return sessions.of_user(scope.caller.id)


@blueprint.post("/revoke-session")
@endpoint(guard=verified(), body=RevokeSessionBody, result=StatusSchema, message="Session ended", max_bytes=BYTES)
def revoke_session(*, scope: Scope, body: RevokeSessionBody) -> dict[str, bool]:
    """End one of the caller's sessions."""
    sessions.end(scope.caller.id, body.token)
    return DONE


@blueprint.post("/revoke-other-sessions")
@endpoint(guard=verified(), result=StatusSchema, message="Other sessions ended", max_bytes=BYTES)
def revoke_other_sessions(*, scope: Scope) -> dict[str, bool]:
    """End all sessions of the caller except the current one."""
    sessions.end_all(scope.caller.id, but=scope.session.id)
    return DONE


@blueprint.post("/revoke-sessions")
@endpoint(guard=verified(), result=StatusSchema, message="All sessions ended", max_bytes=BYTES)
def revoke_sessions(*, scope: Scope) -> dict[str, bool]:
    """End all sessions of the caller."""
    sessions.end_all(scope.caller.id)
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
