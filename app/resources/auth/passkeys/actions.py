"""Use cases of passkeys: options for the browser, registration and sign-in. `browser` is the secret of its cookie."""

import base64
from dataclasses import dataclass
from typing import Any

from webauthn.authentication.verify_authentication_response import VerifiedAuthentication

from app.access import authentication
from app.access.caller import Caller
from app.core.outbound import UnrecordedAct
from app.database import transactions
from app.extensions import current_settings
from app.models.login import Passkey
from app.resources.auth.passkeys import service, verification
from app.resources.auth.passkeys.verification import RelyingParty
from app.resources.user import sessions
from app.resources.user.locks import lock_user
from app.resources.user.sessions import OpenedSession

Response = dict[str, Any]


@dataclass(frozen=True)
class Proof:
    """A verified response of a passkey. `service.record_use` compares its counter."""

    user_id: str
    passkey_id: str
    verified: VerifiedAuthentication


def begin_registration(caller: Caller, *, name: str | None, attachment: str | None, browser: str) -> dict[str, object]:
    """Store a challenge and return the options of a new passkey. `name` is the text in the dialog of the browser."""
    service.check_set_up(caller.id, is_factor_missing=caller.needs_second_factor)
    ttl_s, excluded = current_settings().limits.codes.state_ttl_s, service.descriptors_of(caller.id)
    with transactions.write_transaction():
        challenge = service.create_challenge("passkey_new", browser=browser, ttl_s=ttl_s, user_id=caller.id)
    return verification.registration_options(
        _party(),
        challenge,
        user_id=caller.id,
        email=name or caller.email,
        name=caller.name,
        attachment=attachment,
        excluded=excluded,
    )


def register(caller: Caller, response: Response, *, name: str | None, browser: str) -> UnrecordedAct[Passkey]:
    """Use the challenge, verify the response of the authenticator and store the passkey.

    The device has verified the person. If an organization requires a second factor, the session has proved it.

    Raises:
        UnknownChallenge: the challenge is not one of this browser and user.
        FailedToVerifyRegistration: the response is not valid.
    """
    challenge, party = verification.challenge_of(response), _party()
    with transactions.write_transaction():
        challenge = service.use_challenge(challenge, "passkey_new", browser=browser, user_id=caller.id)
    verified = verification.verify_registration(response, party, challenge)
    transports = verification.transports_of(response)

    def record() -> Passkey:
        _lock(caller)
        row = service.add(caller.id, verified, rp_id=party.id, name=name, transports=transports)
        if caller.needs_second_factor:
            sessions.confirm(caller.session.id, has_second_factor=True)
        return row

    return UnrecordedAct(record)


def begin_sign_in(caller: Caller | None, *, browser: str) -> dict[str, object]:
    """Store a challenge and return the options of a sign-in, for a signed-in caller with the own passkeys."""
    ttl_s = current_settings().limits.codes.state_ttl_s
    allowed = service.descriptors_of(caller.id) if caller is not None else []
    with transactions.write_transaction():
        challenge = service.create_challenge("passkey_sign_in", browser=browser, ttl_s=ttl_s)
    return verification.authentication_options(_party(), challenge, allowed)


def prove(response: Response, *, browser: str, user_id: str | None = None) -> Proof:
    """Use the challenge and verify the response of a passkey, of the user with `user_id` if it is given.

    Raises:
        UnknownChallenge: the challenge is not one of this browser.
        UnknownPasskey: the credential belongs to no account.
        AuthenticationFailed: the response is not valid, or the passkey belongs to another user.
    """
    challenge = verification.challenge_of(response)
    with transactions.write_transaction():
        challenge = service.use_challenge(challenge, "passkey_sign_in", browser=browser)
    row = service.find_by_credential(response.get("id"), response["response"].get("userHandle"), owner_id=user_id)
    key = base64.b64decode(row.public_key)
    return Proof(row.user_id, row.id, verification.verify_authentication(response, _party(), challenge, public_key=key))


def sign_in(response: Response, *, browser: str) -> UnrecordedAct[OpenedSession]:
    """Verify the response of a passkey, sign in its owner and send the cookie of the session.

    The device has verified the person, so the session has proved a second factor. Raises as `prove`.
    """
    proof = prove(response, browser=browser)
    limits, visitor = current_settings().limits.sessions, authentication.client_info()

    def record() -> OpenedSession:
        user = lock_user(proof.user_id)
        service.record_use(proof.passkey_id, proof.verified)
        opened = sessions.start(user, visitor, limits=limits, has_second_factor=True)
        return authentication.set_session_cookie(opened)

    return UnrecordedAct(record)


def delete(caller: Caller, passkey_id: str) -> dict[str, bool]:
    """Delete a passkey of the caller.

    Raises:
        SecondFactorRequired: an organization requires a second factor, which this session has not proved.
        NotFound: the caller has no such passkey.
    """
    _lock(caller)
    service.delete(caller.id, passkey_id)
    return {"status": True}


def _lock(caller: Caller) -> None:
    """Lock the user, and refuse a change of the passkeys in a session that has proved the password only.

    Raises:
        SecondFactorRequired: an organization requires a second factor, and the user has a passkey.
    """
    lock_user(caller.id)
    service.check_set_up(caller.id, is_factor_missing=caller.needs_second_factor)


def _party() -> RelyingParty:
    return RelyingParty.of(current_settings().server)
