"""Options for authenticators, and the verification of their responses (WebAuthn). Knows no table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import webauthn
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers import bytes_to_base64url, parse_client_data_json
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import AuthenticatorTransport, CredentialDeviceType
from webauthn.registration.verify_registration_response import VerifiedRegistration

from app.core.errors import ErrorMessage, InvalidRequest, NotAuthenticated
from app.core.urls import is_ip_address
from app.settings.server import ServerSettings

SERVICE_NAME = "Galley"
TIMEOUT_MS = 300_000
ALGORITHMS = (
    COSEAlgorithmIdentifier.EDDSA,
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
)
TRANSPORTS = frozenset(str(transport.value) for transport in AuthenticatorTransport)
# The library reads bytes of the client and lets errors of its parsers pass.
INVALID = (WebAuthnException, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class FailedToVerifyRegistration(InvalidRequest):
    """The response of an authenticator to a registration is not valid (400)."""

    code, message = "FAILED_TO_VERIFY_REGISTRATION", ErrorMessage("The passkey could not be verified")


class AuthenticationFailed(NotAuthenticated):
    """The response of an authenticator to a sign-in is not valid (401)."""

    code, message = "AUTHENTICATION_FAILED", ErrorMessage("The passkey could not be verified")


@dataclass(frozen=True)
class RelyingParty:
    """The domain for which passkeys are made, and the origins whose pages may use them."""

    id: str
    origins: tuple[str, ...]

    @classmethod
    def of(cls, server: ServerSettings) -> "RelyingParty":
        """Return the relying party of the service."""
        return cls(server.passkey_rp_id, server.allowed_origins)


def fault_of(server: ServerSettings) -> ErrorMessage | None:
    """Return why browsers offer no passkeys on the pages of the service, or None if they do."""
    base = urlsplit(server.base_url)
    host, rp_id = base.hostname or "", server.passkey_rp_id
    if is_ip_address(host):
        return ErrorMessage("Passkeys need a domain. The URL of this service contains an IP address")
    if base.scheme != "https" and host != "localhost":
        return ErrorMessage("Passkeys need HTTPS")
    if host != rp_id and not host.endswith(f".{rp_id}"):
        return ErrorMessage("Passkeys are configured for another domain")
    return None


@dataclass(frozen=True)
class Descriptor:
    """A credential that the browser excludes or looks for."""

    credential_id: str
    transports: Sequence[str]

    def to_json(self) -> dict[str, object]:
        """Return the descriptor as browsers read it."""
        hints = {"transports": list(self.transports)} if self.transports else {}
        return {"id": self.credential_id, "type": "public-key", **hints}


def registration_options(
    party: RelyingParty,
    challenge: bytes,
    *,
    user_id: str,
    email: str,
    name: str,
    attachment: str | None,
    excluded: Sequence[Descriptor],
) -> dict[str, object]:
    """Return the options of a new passkey. It is discoverable, and its use needs the verification of the user."""
    selection = {"residentKey": "required", "requireResidentKey": True, "userVerification": "required"}
    return {
        "challenge": bytes_to_base64url(challenge),
        "rp": {"id": party.id, "name": SERVICE_NAME},
        "user": {"id": user_handle(user_id), "name": email, "displayName": name},
        "pubKeyCredParams": [{"type": "public-key", "alg": int(algorithm)} for algorithm in ALGORITHMS],
        "timeout": TIMEOUT_MS,
        "excludeCredentials": [descriptor.to_json() for descriptor in excluded],
        "authenticatorSelection": selection | ({"authenticatorAttachment": attachment} if attachment else {}),
        "attestation": "none",
    }


def authentication_options(party: RelyingParty, challenge: bytes, allowed: Sequence[Descriptor]) -> dict[str, object]:
    """Return the options of a sign-in. Without `allowed` the browser offers each discoverable passkey."""
    options = {"challenge": bytes_to_base64url(challenge), "timeout": TIMEOUT_MS, "rpId": party.id}
    limited = {"allowCredentials": [descriptor.to_json() for descriptor in allowed]} if allowed else {}
    return {**options, **limited, "userVerification": "required"}


def user_handle(user_id: str) -> str:
    """Return the id of a user as authenticators store it."""
    return bytes_to_base64url(user_id.encode())


def challenge_of(response: Mapping[str, Any]) -> bytes | None:
    """Return the challenge that the client claims to have signed, or None if the response contains none."""
    try:
        return parse_client_data_json(webauthn.base64url_to_bytes(response["response"]["clientDataJSON"])).challenge
    except INVALID:
        return None


def transports_of(response: Mapping[str, Any]) -> list[str]:
    """Return the known transports that the browser reports for a new passkey."""
    reported = response["response"].get("transports")
    return sorted(TRANSPORTS.intersection(map(str, reported))) if isinstance(reported, list) else []


def verify_registration(response: dict[str, Any], party: RelyingParty, challenge: bytes) -> VerifiedRegistration:
    """Return the new credential. Raises FailedToVerifyRegistration."""
    try:
        return webauthn.verify_registration_response(
            credential=response,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=list(party.origins),
            require_user_verification=True,
            supported_pub_key_algs=list(ALGORITHMS),
        )
    except INVALID as error:
        raise FailedToVerifyRegistration from error


def verify_authentication(
    response: dict[str, Any], party: RelyingParty, challenge: bytes, *, public_key: bytes
) -> VerifiedAuthentication:
    """Return what the authenticator reports. The caller compares the counter. Raises AuthenticationFailed."""
    try:
        return webauthn.verify_authentication_response(
            credential=response,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=list(party.origins),
            credential_public_key=public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except INVALID as error:
        raise AuthenticationFailed from error


def is_synced(verified: VerifiedRegistration | VerifiedAuthentication) -> bool:
    """Return whether the passkey may exist on several devices (flag BE)."""
    return verified.credential_device_type == CredentialDeviceType.MULTI_DEVICE
