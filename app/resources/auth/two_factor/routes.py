"""Routes of the second factor, with the paths and bodies of better-auth."""

from collections.abc import Sequence

from app.access.scope import OrganizationScope, Scope
from app.core.limits import InputLimits
from app.core.outbound import UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.second_factor import TrustedDevice
from app.resources.auth.two_factor import actions, challenges, guards
from app.resources.auth.two_factor import schemas as s
from app.resources.user.schemas import StatusSchema

BYTES = InputLimits.auth_bytes
IDENTITY = ("INVALID_PASSWORD", "REAUTH_REQUIRED")
PROOF = ("INVALID_TWO_FACTOR_COOKIE", "ACCOUNT_TEMPORARILY_LOCKED")

blueprint = ApiBlueprint(
    "auth_two_factor",
    __name__,
    title="Second factor",
    description="Codes of an authenticator app or by mail, backup codes and trusted devices.",
)
member_blueprint = ApiBlueprint(
    "auth_two_factor_members",
    __name__,
    title="Second factors of members",
    description="Mails with which members remove a lost second factor.",
    parameters={"user_id": "The id of the member."},
)


@blueprint.post("/enable")
@endpoint(
    **vars(guards.CHANGE),
    operation_id="enableSecondFactor",
    body=s.EnableBody,
    result=s.EnabledFactorSchema,
    message="Confirm the authenticator app with a code",
    max_bytes=BYTES,
    secret_fields=("totpURI", "backupCodes"),
    errors=(*IDENTITY, "TOTP_ALREADY_ENABLED", "SECOND_FACTOR_REQUIRED"),
)
def enable(*, scope: Scope, body: s.EnableBody) -> UnrecordedAct[actions.PreparedFactor]:
    """Prepare an authenticator app, which a code confirms, or choose codes by mail."""
    return actions.enable(scope.user, scope.session, **vars(body))


@blueprint.post("/disable")
@endpoint(
    **vars(guards.CHANGE),
    operation_id="disableSecondFactor",
    body=s.PasswordBody,
    result=StatusSchema,
    message="Second factor removed",
    max_bytes=BYTES,
    errors=IDENTITY,
)
def disable(*, scope: Scope, body: s.PasswordBody) -> UnrecordedAct[dict[str, bool]]:
    """Remove the second factor, its backup codes and the trusted devices."""
    return actions.disable(scope.user, scope.session, **vars(body))


@blueprint.post("/get-totp-uri")
@endpoint(
    **vars(guards.CHANGE),
    operation_id="requestTotpUri",
    body=s.PasswordBody,
    result=s.AppUriSchema,
    message="URI of the authenticator app",
    max_bytes=BYTES,
    secret_fields=("totpURI",),
    errors=(*IDENTITY, "TOTP_NOT_ENABLED"),
)
def get_totp_uri(*, scope: Scope, body: s.PasswordBody) -> UnrecordedAct[dict[str, str]]:
    """Return the secret for another authenticator app."""
    return actions.app_uri(scope.user, scope.session, **vars(body))


@blueprint.post("/verify-totp")
@endpoint(
    **vars(guards.VERIFY),
    body=s.CodeBody,
    result=s.ProvedFactorSchema,
    message="Second factor accepted",
    max_bytes=BYTES,
    errors=(*PROOF, "INVALID_CODE", "TOTP_NOT_ENABLED", "REAUTH_REQUIRED", "SECOND_FACTOR_REQUIRED"),
)
def verify_totp(*, scope: Scope, body: s.CodeBody) -> UnrecordedAct[actions.ProvedFactor]:
    """Finish the sign-in, or confirm the authenticator app, with a code of the app."""
    return actions.verify_app_code(**vars(body))


@blueprint.post("/send-otp")
@endpoint(
    **vars(guards.SEND_CODE),
    operation_id="sendSecondFactorCode",
    result=StatusSchema,
    message="A code was sent",
    max_bytes=BYTES,
    errors=("INVALID_TWO_FACTOR_COOKIE", "OTP_NOT_ENABLED"),
)
def send_otp(*, scope: Scope) -> UnrecordedAct[dict[str, bool]]:
    """Mail a code to the user of the sign-in or session."""
    return actions.send_code()


@blueprint.post("/verify-otp")
@endpoint(
    **vars(guards.VERIFY),
    operation_id="verifySecondFactorCode",
    body=s.CodeBody,
    result=s.ProvedFactorSchema,
    message="Second factor accepted",
    max_bytes=BYTES,
    errors=(*PROOF, "INVALID_CODE", "OTP_NOT_ENABLED"),
)
def verify_otp(*, scope: Scope, body: s.CodeBody) -> UnrecordedAct[actions.ProvedFactor]:
    """Finish the sign-in with a mailed code."""
    return actions.verify_mail_code(**vars(body))


@blueprint.post("/generate-backup-codes")
@endpoint(
    **vars(guards.CHANGE),
    body=s.PasswordBody,
    result=s.BackupCodesSchema,
    message="Backup codes replaced",
    max_bytes=BYTES,
    secret_fields=("backupCodes",),
    errors=(*IDENTITY, "TWO_FACTOR_NOT_ENABLED"),
)
def generate_backup_codes(*, scope: Scope, body: s.PasswordBody) -> UnrecordedAct[dict[str, object]]:
    """Replace the backup codes."""
    return actions.replace_backup_codes(scope.user, scope.session, **vars(body))


@blueprint.post("/verify-backup-code")
@endpoint(
    **vars(guards.VERIFY),
    body=s.BackupCodeBody,
    result=s.ProvedFactorSchema,
    message="Backup code accepted",
    max_bytes=BYTES,
    errors=(*PROOF, "INVALID_BACKUP_CODE", "TWO_FACTOR_NOT_ENABLED"),
)
def verify_backup_code(*, scope: Scope, body: s.BackupCodeBody) -> UnrecordedAct[actions.ProvedFactor]:
    """Finish the sign-in with a backup code, which is used up."""
    return actions.verify_backup_code(**vars(body))


@blueprint.post("/reset")
@endpoint(
    **vars(guards.RESET),
    operation_id="resetSecondFactor",
    body=s.ResetFactorBody,
    result=StatusSchema,
    message="Second factor removed",
    max_bytes=BYTES,
    errors=("INVALID_TOKEN", "INVALID_EMAIL_OR_PASSWORD"),
)
def reset(*, scope: Scope, body: s.ResetFactorBody) -> UnrecordedAct[dict[str, bool]]:
    """Remove a lost second factor with a mailed token and the password."""
    return actions.complete_reset(**vars(body))


@blueprint.get("/trusted-devices")
@endpoint(
    **vars(guards.LIST_DEVICES),
    result=s.TrustedDeviceSchema,
    many=True,
    without_envelope=True,
    message="Trusted devices",
)
def list_trusted_devices(*, scope: Scope) -> Sequence[TrustedDevice]:
    """List the browsers in which the caller signs in without the second factor."""
    return challenges.devices_of(scope.caller.id)


@blueprint.post("/revoke-trusted-device")
@endpoint(
    **vars(guards.END_DEVICE), body=s.RevokeDeviceBody, result=StatusSchema, message="Device ended", max_bytes=BYTES
)
def revoke_trusted_device(*, scope: Scope, body: s.RevokeDeviceBody) -> dict[str, bool]:
    """End the trust in a browser."""
    challenges.end_device(scope.caller.id, body.id)
    return actions.DONE


@member_blueprint.post("/<org_id>/member/<user_id>/reset-second-factor")
@endpoint(
    **vars(guards.REQUEST_RESET),
    operation_id="requestSecondFactorReset",
    result=StatusSchema,
    message="A link was sent to the member",
    errors=("TWO_FACTOR_NOT_ENABLED",),
)
def request_reset(*, scope: OrganizationScope) -> UnrecordedAct[dict[str, bool]]:
    """Mail a link to a member who has lost the second factor. The link and the member's password remove it."""
    return actions.request_reset(scope.organization, str(scope.path["user_id"]), by=scope.user)
