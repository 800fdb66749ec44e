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
from app.resources.auth.two_factor import service as second_factors
from app.resources.auth.two_factor.service import FactorMethod

PASSWORD, CODE, RESPONSE = "identity_password", "identity_code", "identity_response"
INPUTS = (PASSWORD, CODE, RESPONSE)


def confirm(form: Form) -> None:
    """Prove the identity with the fields of the dialog, if the form contains one. The other fields stay.

    Raises:
        AppError: the proof is not valid. The page shows the dialog again.
    """
    sent = {"password": form.text(PASSWORD), "code": form.text(CODE).strip()}
    proof: dict[str, object] = {name: value for name, value in sent.items() if value}
    if form.text(RESPONSE):
        proof = {"response": form.parsed(RESPONSE)}
    for name in INPUTS:
        form.values.poplist(name)
    if not proof:
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
    has_app = FactorMethod.TOTP in second_factors.methods_of(second_factors.factor_of(scope.caller.id))
    return IdentityMethods(scope.user.password_hash is not None, has_passkey, has_app)


def _prove(scope: Scope, body: ReauthenticateBody) -> object:
    browser = responses.browser_secret() or ""
    return actions.reauthenticate(scope.user, scope.session, **vars(body), browser=browser)
