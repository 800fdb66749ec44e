"""Use cases of accounts with a password: sign-up, sign-in, and the mails that confirm an address or reset a password.

Passwords and codes are compared and hashed before the transaction.
"""

from typing import Any

from app.access import authentication
from app.core.emails import email_key
from app.core.errors import Conflict, EmailNotVerified
from app.core.ids import HasId
from app.core.outbound import UnrecordedAct
from app.database import transactions
from app.extensions import current_settings
from app.models.user import User
from app.resources.auth import one_time_codes, passwords, service
from app.resources.auth.guards import compare_sign_in, may_mail_reset, may_notify
from app.resources.auth.passkeys import actions as passkeys
from app.resources.auth.passkeys.service import record_use
from app.resources.auth.two_factor.actions import enter, trusted_device
from app.resources.auth.two_factor.challenges import SignedIn
from app.resources.auth.two_factor.guards import clear_attempts, count_attempt
from app.resources.auth.two_factor.service import use_app_code
from app.resources.user import sessions
from app.resources.user.guards import compare_password
from app.resources.user.locks import lock_user
from app.resources.user.mail import language_at, language_of
from app.resources.user.passwords import check_new, hashed, matches


def sign_up(values: dict[str, Any], *, timezone: str | None = None) -> UnrecordedAct[dict[str, User | None]]:
    """Register with an e-mail address and a password, and with the time zone of the browser. A code is mailed.

    The password is hashed and compared in each case, so that known and unknown addresses take the same time.

    Raises:
        SignUpClosed: the operator does not accept this sign-up.
    """
    email, password, limits = values["email"], values["password"], current_settings().limits.codes
    service.check_sign_up(email_key(email))
    stored = service.password_of(email)
    prepared: dict[str, Any] = {
        "password_hash": hashed(password),
        "is_known_password": matches(stored, password),
        "may_notify": may_notify(email_key(email)),
        "timezone": timezone,
    }
    visitor = authentication.client_info()
    return UnrecordedAct(lambda: {"user": service.sign_up(values, **prepared, visitor=visitor, limits=limits)})


def sign_in(email: str, password: str, *, remember_me: bool) -> UnrecordedAct[SignedIn]:
    """Sign in and send the cookie of the session, or that of a sign-in that waits for the second factor.

    Raises:
        InvalidEmailOrPassword: no user has this e-mail address and password.
        EmailNotVerified: the e-mail address is not verified. A new code is mailed if the resend interval allows it.
    """
    user, stored = compare_sign_in(email, password)
    user_id, limits, visitor = user.id, current_settings().limits, authentication.client_info()
    if not user.email_verified:
        language = language_of(user, visitor.language)
        with transactions.write_transaction():
            one_time_codes.request_code(user.email_key, limits=limits.codes, language=language)
        raise EmailNotVerified
    device = trusted_device()
    return UnrecordedAct(
        lambda: enter(
            service.sign_in(user_id, stored, visitor=visitor, limits=limits, device=device, remember=remember_me)
        )
    )


def verify_email(email: str, otp: str) -> UnrecordedAct[SignedIn]:
    """Count the attempt, confirm the e-mail address with the mailed code and sign in.

    Raises:
        TooManyAttempts: all attempts were used.
        InvalidOtp: the code is wrong.
    """
    settings = current_settings()
    with transactions.write_transaction():
        row = one_time_codes.count_attempt(email_key(email), limits=settings.limits.codes)
    if not one_time_codes.is_valid_code(row, otp):
        raise one_time_codes.InvalidOtp
    proof, limits, web_url = (row.id, row.code_hash), settings.limits, settings.server.web_url
    visitor, device = authentication.client_info(), trusted_device()
    return UnrecordedAct(
        lambda: enter(service.verify_email(proof, visitor=visitor, limits=limits, device=device, web_url=web_url))
    )


def send_code(email: str) -> dict[str, bool]:
    """Mail a new verification code. The result does not reveal whether the account exists."""
    key, limits = email_key(email), current_settings().limits.codes
    language = language_at(key, authentication.client_info().language)
    one_time_codes.request_code(key, limits=limits, language=language)
    return {"success": True}


def sign_out() -> dict[str, bool]:
    """End the session, if there is one, and clear its cookie."""
    session = authentication.session()
    if session is not None:
        sessions.end(session.user_id, session.id)
    return authentication.clear_session_cookie({"success": True})


def reauthenticate(
    user: User,
    session: HasId,
    *,
    password: str | None,
    code: str | None,
    response: dict[str, Any] | None,
    browser: str,
) -> UnrecordedAct[dict[str, bool]]:
    """Prove the identity of a signed-in user again, with the password, a code of the app or a passkey.

    Raises:
        InvalidPassword: the password is wrong.
        AppNotEnabled, InvalidFactorCode, SecondFactorLocked: the code is not valid, or not used.
        UnknownChallenge, UnknownPasskey, AuthenticationFailed: the response of the passkey is not valid.
    """
    proof, stored, user_id = None, user.password_hash, user.id
    if response is not None:
        proof = passkeys.prove(response, browser=browser, user_id=user_id)
    elif code is not None:
        count_attempt(user_id)
    else:
        compare_password(user, password)

    def record() -> dict[str, bool]:
        locked = lock_user(user_id)
        if locked.password_hash != stored:
            raise Conflict("Another request changed the password. Try again")
        if proof is not None:
            record_use(proof.passkey_id, proof.verified)
        if code is not None:
            use_app_code(locked, code, session_id=None)
            clear_attempts(user_id)
        authentication.mark_recent(sessions.confirm(session.id, has_second_factor=password is None))
        return {"status": True}

    return UnrecordedAct(record)


def mail_reset_link(email: str, redirect_to: str | None) -> UnrecordedAct[dict[str, bool]]:
    """Mail a link to the page on which the owner of the e-mail address chooses a new password.

    The result and the work are the same for an unknown e-mail address.

    Raises:
        InvalidRedirect: the page is outside the allowed origins.
    """
    server, key = current_settings().server, email_key(email)
    page = passwords.resolve_redirect(
        redirect_to, web_url=server.web_url, origins=server.allowed_origins, otherwise=passwords.RESET_PAGE
    )
    language, may_mail = language_at(key, authentication.client_info().language), may_mail_reset(key)

    def record() -> dict[str, bool]:
        if may_mail:
            one_time_codes.request_reset(key, page=page, is_token_in_query=bool(redirect_to), language=language)
        return {"status": True}

    return UnrecordedAct(record)


def reset_password(token: str, new_password: str) -> UnrecordedAct[dict[str, bool]]:
    """Set a new password with a mailed token.

    Raises:
        InvalidToken: the token is not valid.
        InvalidRequest: the password is too easy to guess.
    """
    row = one_time_codes.find_reset(token)
    check_new(new_password, service.find_owner(row))
    proof, new_hash = (row.id, row.code_hash), hashed(new_password)
    link = f"{current_settings().server.web_url}/forgot-password"
    return UnrecordedAct(lambda: passwords.reset(proof, new_hash, link=link))
