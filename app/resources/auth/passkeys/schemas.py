"""Bodies, queries and results of the passkey routes, with the names of better-auth and WebAuthn."""

from dataclasses import dataclass
from typing import Annotated, Any

from marshmallow import Schema, fields, validate

from app.core.limits import TextLengths
from app.http.validation import DateTimeMs, Length, RequestBody, RequestQuery, text
from app.models.login import Passkey
from app.resources.auth.schemas import PublicKeyCredentialSchema, SessionSchema
from app.resources.user.schemas import UserSchema

ATTACHMENTS = ["platform", "cross-platform"]
OPTIONAL: dict[str, Any] = {"required": False, "load_default": None, "allow_none": True}


@dataclass(frozen=True, kw_only=True)
class RegistrationOptionsQuery(RequestQuery):
    """The preferences for a new passkey."""

    name: Annotated[str | None, text(0, TextLengths.PASSKEY_NAME, **OPTIONAL)]
    authenticator_attachment: Annotated[
        str | None,
        fields.String(load_default=None, data_key="authenticatorAttachment", validate=validate.OneOf(ATTACHMENTS)),
    ]


@dataclass(frozen=True, kw_only=True)
class VerifyRegistrationBody(RequestBody):
    """The response of an authenticator to a registration, and the name of the passkey."""

    response: Annotated[dict[str, Any], fields.Nested(PublicKeyCredentialSchema, required=True)]
    name: Annotated[str | None, text(0, TextLengths.PASSKEY_NAME, **OPTIONAL)]


@dataclass(frozen=True, kw_only=True)
class VerifyAuthenticationBody(RequestBody):
    """The response of an authenticator to a sign-in."""

    response: Annotated[dict[str, Any], fields.Nested(PublicKeyCredentialSchema, required=True)]


@dataclass(frozen=True, kw_only=True)
class DeletePasskeyBody(RequestBody):
    """The id of a passkey."""

    id: Annotated[str, fields.String(required=True, validate=Length(max=64))]


@dataclass(frozen=True, kw_only=True)
class UpdatePasskeyBody(RequestBody):
    """The id and the new name of a passkey."""

    id: Annotated[str, fields.String(required=True, validate=Length(max=64))]
    name: Annotated[str, text(1, TextLengths.PASSKEY_NAME)]


class CredentialDescriptorSchema(Schema):
    """A credential that the browser excludes or offers."""

    id = fields.String()
    type = fields.String()
    transports = fields.List(
        fields.String(), metadata={"x-optional": True, "description": "The connections of the authenticator"}
    )


class RelyingPartySchema(Schema):
    """The service for which the passkey is made."""

    id = fields.String()
    name = fields.String()


class CredentialUserSchema(Schema):
    """The user as the authenticator stores it."""

    id = fields.String()
    name = fields.String()
    displayName = fields.String()  # noqa: N815 (wire name)


class KeyParameterSchema(Schema):
    """A kind of key that the service accepts."""

    type = fields.String()
    alg = fields.Integer()


class AuthenticatorSelectionSchema(Schema):
    """The requirements for the authenticator."""

    authenticatorAttachment = fields.String(  # noqa: N815 (wire name)
        validate=validate.OneOf(ATTACHMENTS),
        metadata={"x-optional": True, "description": "The requested kind of authenticator"},
    )
    residentKey = fields.String()  # noqa: N815 (wire name)
    requireResidentKey = fields.Boolean(metadata={"description": "Always true"})  # noqa: N815 (wire name)
    userVerification = fields.String()  # noqa: N815 (wire name)


class RegistrationOptionsSchema(Schema):
    """The options of a new passkey, for `navigator.credentials.create`."""

    challenge = fields.String()
    rp = fields.Nested(RelyingPartySchema)
    user = fields.Nested(CredentialUserSchema)
    pubKeyCredParams = fields.List(fields.Nested(KeyParameterSchema), metadata={"description": "The kinds of keys"})  # noqa: N815 (wire name)
    timeout = fields.Integer(metadata={"description": "The time for the user, in milliseconds"})
    excludeCredentials = fields.List(  # noqa: N815 (wire name)
        fields.Nested(CredentialDescriptorSchema), metadata={"description": "The passkeys of the user"}
    )
    authenticatorSelection = fields.Nested(AuthenticatorSelectionSchema)  # noqa: N815 (wire name)
    attestation = fields.String()


class AuthenticationOptionsSchema(Schema):
    """The options of a sign-in, for `navigator.credentials.get`."""

    challenge = fields.String()
    timeout = fields.Integer(metadata={"description": "The time for the user, in milliseconds"})
    rpId = fields.String()  # noqa: N815 (wire name)
    allowCredentials = fields.List(  # noqa: N815 (wire name)
        fields.Nested(CredentialDescriptorSchema),
        metadata={
            "x-optional": True,
            "description": "The passkeys of a signed-in user. Without it the browser offers all",
        },
    )
    userVerification = fields.String()  # noqa: N815 (wire name)


class PasskeySchema(Schema):
    """A passkey of the caller."""

    id = fields.String()
    name = fields.String(allow_none=True)
    userId = fields.String(attribute="user_id")  # noqa: N815 (wire name)
    credentialID = fields.String(attribute="credential_id")  # noqa: N815 (wire name)
    publicKey = fields.String(attribute="public_key", metadata={"description": "The COSE key as Base64 text"})  # noqa: N815 (wire name)
    counter = fields.Integer()
    deviceType = fields.Function(  # noqa: N815 (wire name)
        lambda row: "multiDevice" if row.is_synced else "singleDevice",
        metadata={"type": "string", "enum": ["singleDevice", "multiDevice"]},
    )
    backedUp = fields.Boolean(attribute="backed_up", metadata={"description": "True if the key has a copy"})  # noqa: N815 (wire name)
    transports = fields.Function(
        lambda row: ",".join(row.transports), metadata={"type": "string", "description": "Divided by commas"}
    )
    aaguid = fields.String(metadata={"description": "The kind of the authenticator, if it reports one"})
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    lastUsedAt = DateTimeMs(attribute="last_used_at", allow_none=True, metadata={"description": "The last sign-in"})  # noqa: N815 (wire name)


class UpdatedPasskeySchema(Schema):
    """The renamed passkey."""

    passkey = fields.Nested(PasskeySchema)


class PasskeySignedInSchema(Schema):
    """The new session and its user. The cookie carries the session."""

    session = fields.Nested(SessionSchema)
    user = fields.Nested(UserSchema)


def renamed(row: Passkey) -> dict[str, Passkey]:
    """Return the value of `UpdatedPasskeySchema`."""
    return {"passkey": row}
