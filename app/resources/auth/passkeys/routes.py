"""Routes of passkeys with the paths and bodies of the passkey plugin of better-auth."""

from collections.abc import Sequence

from app.access.scope import Scope
from app.core.limits import InputLimits
from app.core.outbound import UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.login import Passkey
from app.resources.auth import responses
from app.resources.auth.passkeys import actions, guards, service
from app.resources.auth.passkeys import schemas as s
from app.resources.user.schemas import StatusSchema
from app.resources.user.sessions import OpenedSession

BYTES = InputLimits.auth_bytes

blueprint = ApiBlueprint(
    "auth_passkeys",
    __name__,
    title="Passkeys",
    noun="passkey",
    description="Registration of passkeys, and the sign-in with one instead of a password.",
    parameters={
        "authenticatorAttachment": "The kind of authenticator: of this device, or one that can be removed.",
        "name": "The name of the account in the dialog of the browser. Default: the e-mail address.",
    },
)


@blueprint.get("/passkey/generate-register-options")
@endpoint(
    **vars(guards.BEGIN_REGISTRATION),
    query=s.RegistrationOptionsQuery,
    result=s.RegistrationOptionsSchema,
    message="Create the passkey",
    errors=("SECOND_FACTOR_REQUIRED",),
    operation_id="getPasskeyRegistrationOptions",
)
def generate_register_options(*, scope: Scope, query: s.RegistrationOptionsQuery) -> dict[str, object]:
    """Return the options of a new passkey. The challenge belongs to this browser for ten minutes."""
    name, attachment = query.name, query.authenticator_attachment
    browser = responses.ensure_browser_secret()
    return actions.begin_registration(scope.caller, name=name, attachment=attachment, browser=browser)


@blueprint.post("/passkey/verify-registration")
@endpoint(
    **vars(guards.REGISTER),
    body=s.VerifyRegistrationBody,
    result=s.PasskeySchema,
    message="Passkey registered",
    max_bytes=BYTES,
    errors=(
        "CHALLENGE_NOT_FOUND",
        "FAILED_TO_VERIFY_REGISTRATION",
        "PREVIOUSLY_REGISTERED",
        "LIMIT_REACHED",
        "SECOND_FACTOR_REQUIRED",
    ),
    operation_id="createPasskey",
)
def verify_registration(*, scope: Scope, body: s.VerifyRegistrationBody) -> UnrecordedAct[Passkey]:
    """Verify and store a new passkey. The user must have been verified by the authenticator."""
    browser = responses.browser_secret() or ""
    return actions.register(scope.caller, body.response, name=body.name, browser=browser)


@blueprint.get("/passkey/generate-authenticate-options")
@endpoint(
    **vars(guards.BEGIN_SIGN_IN),
    result=s.AuthenticationOptionsSchema,
    message="Use a passkey",
    operation_id="getPasskeySignInOptions",
)
def generate_authenticate_options(*, scope: Scope) -> dict[str, object]:
    """Return the options of a sign-in. The challenge belongs to this browser for ten minutes and is used once."""
    return actions.begin_sign_in(scope.optional_caller, browser=responses.ensure_browser_secret())


@blueprint.post("/passkey/verify-authentication")
@endpoint(
    **vars(guards.SIGN_IN),
    body=s.VerifyAuthenticationBody,
    result=s.PasskeySignedInSchema,
    message="Signed in",
    max_bytes=BYTES,
    errors=("CHALLENGE_NOT_FOUND", "401 PASSKEY_NOT_FOUND", "AUTHENTICATION_FAILED"),
    operation_id="signInWithPasskey",
)
def verify_authentication(*, scope: Scope, body: s.VerifyAuthenticationBody) -> UnrecordedAct[OpenedSession]:
    """Sign in with a passkey. No e-mail address is sent."""
    return actions.sign_in(body.response, browser=responses.browser_secret() or "")


@blueprint.get("/passkey/list-user-passkeys")
@endpoint(
    guard=guards.OWN,
    result=s.PasskeySchema,
    many=True,
    without_envelope=True,
    message="Passkeys",
    operation_id="listPasskeys",
)
def list_user_passkeys(*, scope: Scope) -> Sequence[Passkey]:
    """List the passkeys of the caller, oldest first."""
    return service.of_user(scope.caller.id)


@blueprint.post("/passkey/update-passkey")
@endpoint(
    **vars(guards.CHANGE),
    body=s.UpdatePasskeyBody,
    result=s.UpdatedPasskeySchema,
    message="Passkey renamed",
    max_bytes=BYTES,
    errors=("404 PASSKEY_NOT_FOUND",),
    operation_id="updatePasskey",
)
def update_passkey(*, scope: Scope, body: s.UpdatePasskeyBody) -> dict[str, Passkey]:
    """Rename a passkey of the caller."""
    return s.renamed(service.rename(scope.caller.id, body.id, body.name))


@blueprint.post("/passkey/delete-passkey")
@endpoint(
    **vars(guards.DELETE),
    body=s.DeletePasskeyBody,
    result=StatusSchema,
    message="Passkey deleted",
    max_bytes=BYTES,
    errors=("404 PASSKEY_NOT_FOUND", "SECOND_FACTOR_REQUIRED"),
    operation_id="revokePasskey",
)
def delete_passkey(*, scope: Scope, body: s.DeletePasskeyBody) -> dict[str, bool]:
    """Delete a passkey of the caller. Sessions that it opened stay."""
    return actions.delete(scope.caller, body.id)
