"""The dialog in which a user proves the identity again. It contains the sent form, which then goes on."""

from flask import g

from app.access.scope import Scope
from app.console.shell.forms import Form, IdentityMethods
from app.core.errors import AppError
from app.extensions import current_settings
from app.http.actions import run
from app.resources.auth import actions, guards, responses
from app.resources.auth.passkeys import service as passkeys
from app.resources.auth.passkeys.verification import fault_of
from app.resources.auth.schemas import ReauthenticateBody

PASSWORD, RESPONSE = "identity_password", "identity_response"
INPUTS = (PASSWORD, RESPONSE)


def confirm(form: Form) -> None:
    """Prove the identity with the fields of the dialog, if the form contains one. The other fields stay.

    Raises:
        AppError: the proof is not valid. The page shows the dialog again.
    """
    proof = {"response": form.parsed(RESPONSE)} if form.text(RESPONSE) else {"password": form.text(PASSWORD)}
    for name in INPUTS:
        form.values.poplist(name)
    if proof == {"password": ""}:
        return
    try:
        body = ReauthenticateBody.loaded(proof)
        run(lambda scope: _prove(scope, body), {}, guards.REAUTHENTICATE)
    except AppError:
        form.identity = methods()
        raise


def methods() -> IdentityMethods:
    """Return the methods of the signed-in user."""
    scope: Scope = g.console_scope
    has_passkey = bool(passkeys.of_user(scope.caller.id)) and fault_of(current_settings().server) is None
    return IdentityMethods(scope.user.password_hash is not None, has_passkey)


def _prove(scope: Scope, body: ReauthenticateBody) -> object:
    browser = responses.browser_secret() or ""
    return actions.reauthenticate(scope.user, scope.session, **vars(body), browser=browser)
