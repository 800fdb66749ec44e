"""Bodies and results of the routes of the second factor."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, fields

from app.http.json_schema import OPTIONAL
from app.http.validation import DateTimeMs, Length, RequestBody, StrictBoolean
from app.resources.auth.two_factor.service import FEW_CODES, FactorMethod
from app.resources.user.schemas import UserSchema, password_field

METHOD = "Codes of an authenticator app (`totp`) or by mail (`otp`)"
URI = "The URI with the secret, for the QR code of an authenticator app"
TRUST = "Trust the browser for 30 days: it signs in without a code"
NO_TOKEN = "Always null: the token is in the cookie"  # noqa: S105 (a description)


def _trust_device() -> StrictBoolean:
    return StrictBoolean(load_default=False, data_key="trustDevice", metadata={"description": TRUST})


@dataclass(frozen=True, kw_only=True)
class PasswordBody(RequestBody):
    """The password of the caller. Without it the sign-in must be recent."""

    password: Annotated[str | None, password_field(load_default=None, allow_none=True)]


@dataclass(frozen=True, kw_only=True)
class EnableBody(PasswordBody):
    """The second factor to set up. `issuer` is accepted and not used."""

    method: Annotated[
        FactorMethod,
        fields.Enum(FactorMethod, by_value=True, load_default=FactorMethod.TOTP, metadata={"description": METHOD}),
    ]


@dataclass(frozen=True, kw_only=True)
class CodeBody(RequestBody):
    """A code of 6 digits. `trustDevice` trusts the browser for 30 days."""

    code: Annotated[
        str, fields.String(required=True, validate=Length(max=16), metadata={"description": "The code of 6 digits"})
    ]
    trust_device: Annotated[bool, _trust_device()]


@dataclass(frozen=True, kw_only=True)
class BackupCodeBody(RequestBody):
    """A backup code. With `disableSession` no session starts."""

    code: Annotated[
        str,
        fields.String(
            required=True, validate=Length(max=64), metadata={"description": "Case, spaces and hyphens are ignored"}
        ),
    ]
    trust_device: Annotated[bool, _trust_device()]
    disable_session: Annotated[
        bool,
        StrictBoolean(
            load_default=False,
            data_key="disableSession",
            metadata={"description": "Only use the code: no session starts"},
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class RevokeDeviceBody(RequestBody):
    """The id of a trusted device."""

    id: Annotated[str, fields.String(required=True, validate=Length(max=255))]


@dataclass(frozen=True, kw_only=True)
class ResetFactorBody(RequestBody):
    """The token of the mailed link, and the password of the account."""

    token: Annotated[
        str, fields.String(required=True, validate=Length(max=512), metadata={"description": "The token of the link"})
    ]
    password: Annotated[str, password_field(required=True)]


class ChallengeSchema(Schema):
    """The fields of a sign-in that waits for the second factor."""

    twoFactorRedirect = fields.Boolean(  # noqa: N815 (wire name)
        attribute="is_challenge",
        metadata=OPTIONAL | {"description": "True if the sign-in continues with the second factor. No session started"},
    )
    twoFactorMethods = fields.List(  # noqa: N815 (wire name)
        fields.Enum(FactorMethod, by_value=True),
        attribute="methods",
        metadata=OPTIONAL | {"description": "The second factors of the user"},
    )


class EnabledFactorSchema(Schema):
    """A second factor that was set up. The URI contains the secret of the authenticator app."""

    method = fields.Enum(FactorMethod, by_value=True, metadata={"description": METHOD})
    totpURI = fields.String(  # noqa: N815 (wire name)
        attribute="uri", allow_none=True, metadata={"description": f"{URI}. Null for codes by mail"}
    )
    backupCodes = fields.List(  # noqa: N815 (wire name)
        fields.String(), attribute="backup_codes", metadata={"description": "Empty if the user has backup codes"}
    )


class AppUriSchema(Schema):
    """The URI of the authenticator app."""

    totpURI = fields.String(attribute="uri", metadata={"description": URI})  # noqa: N815 (wire name)


class BackupCodesSchema(Schema):
    """New backup codes. They are not sent again."""

    status = fields.Boolean(metadata={"description": "Always true"})
    backupCodes = fields.List(  # noqa: N815 (wire name)
        fields.String(), attribute="backup_codes", metadata={"description": "Ten codes, each for one use"}
    )


class ProvedFactorSchema(Schema):
    """The user who has proved the second factor. The cookie carries the session."""

    token = fields.Constant(None, metadata={"description": NO_TOKEN})
    user = fields.Nested(UserSchema)
    remainingBackupCodes = fields.Integer(  # noqa: N815 (wire name)
        attribute="remaining_codes", metadata={"description": "The number of unused backup codes"}
    )
    fewBackupCodes = fields.Function(  # noqa: N815 (wire name)
        lambda proved: proved.remaining_codes <= FEW_CODES,
        metadata={"type": "boolean", "description": "True if at most two backup codes are unused"},
    )


class TrustedDeviceSchema(Schema):
    """A browser in which the caller signs in without the second factor."""

    id = fields.String()
    userAgent = fields.String(attribute="user_agent", allow_none=True)  # noqa: N815 (wire name)
    ipAddress = fields.String(attribute="ip_address", allow_none=True)  # noqa: N815 (wire name)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    lastUsedAt = DateTimeMs(attribute="last_used_at", metadata={"description": "The last sign-in"})  # noqa: N815 (wire name)
    expiresAt = DateTimeMs(attribute="expires_at")  # noqa: N815 (wire name)
