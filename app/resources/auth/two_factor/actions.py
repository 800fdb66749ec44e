"""Use cases of the second factor: set-up, proof at the sign-in or in a session, trusted devices and removal."""

from collections.abc import Callable
from dataclasses import dataclass

from app.access import authentication
from app.access.caller import CallerSession
from app.core.outbound import UnrecordedAct
from app.extensions import current_settings, jobs
from app.models.organization import Organization
from app.models.user import User
from app.resources.auth.guards import compare_sign_in
from app.resources.auth.passkeys import service as passkeys
from app.resources.auth.two_factor import challenges, errors, guards, reset, service
from app.resources.auth.two_factor.challenges import SignedIn
from app.resources.auth.two_factor.service import FactorMethod
from app.resources.user import sessions
from app.resources.user.guards import compare_password
from app.resources.user.locks import lock_user
from app.resources.user.mail import language_of
from app.resources.user.sessions import OpenedSession

CHALLENGE_COOKIE, DEVICE_COOKIE = "two_factor", "trust_device"
DONE = {"status": True}


@dataclass(frozen=True)
class PreparedFactor:
    """A second factor after `enable`. The URI of an app is not sent for codes by mail."""

    method: FactorMethod
    uri: str | None
    backup_codes: list[str]


@dataclass(frozen=True)
class ProvedFactor:
    """A user who has proved the second factor, and the number of unused backup codes."""

    user: User
    remaining_codes: int


@dataclass(frozen=True)
class FactorState:
    """The second factor of a user. `uri` and `secret` are those of an app that was not confirmed yet."""

    methods: list[FactorMethod]
    uri: str | None
    secret: str | None
    remaining_codes: int
    has_password: bool


@dataclass(frozen=True)
class Applicant:
    """The user who proves a second factor: of a sign-in that waits for it, else of the session."""

    user_id: str
    challenge_id: str | None = None
    session_id: str | None = None


def enter(signed_in: SignedIn) -> SignedIn:
    """Send the cookie of a session, or of a sign-in that waits for the second factor."""
    if isinstance(signed_in, OpenedSession):
        return authentication.set_session_cookie(signed_in)
    authentication.set_cookie(CHALLENGE_COOKIE, signed_in.token, signed_in.max_age_s)
    return signed_in


def trusted_device() -> str | None:
    """Return the token of the trusted device from which the request comes, valid or not."""
    return authentication.read_secret(DEVICE_COOKIE)


def methods_of_challenge() -> list[FactorMethod]:
    """Return the second factors for the sign-in of this browser that waits for one. Without a sign-in it is empty."""
    challenge = challenges.find(authentication.read_secret(CHALLENGE_COOKIE))
    return service.methods_of(service.factor_of(challenge.user_id)) if challenge is not None else []


def state_of(user: User, session: CallerSession) -> FactorState:
    """Return the second factor of a user, or the set-up that this session has begun a short time ago."""
    factor = service.factor_of(user.id)
    is_shown = service.is_waiting(factor, session.id) and authentication.is_recent(session)
    uri, secret = service.app_uri(user, session.id) if is_shown else (None, None)
    remaining = service.remaining_codes(user.id)
    return FactorState(service.methods_of(factor), uri, secret, remaining, user.password_hash is not None)


def enable(
    user: User, session: CallerSession, *, password: str | None, method: FactorMethod
) -> UnrecordedAct[PreparedFactor]:
    """Prepare an authenticator app, or choose codes by mail. A first code confirms the app.

    Raises:
        InvalidPassword, ReauthRequired: the identity was not confirmed.
        AppAlreadyEnabled: the user has an authenticator app.
    """
    confirm_identity(user, session, password)
    user_id, limits = user.id, current_settings().limits.codes

    def record() -> PreparedFactor:
        locked = lock_user(user_id)
        _check_passkeys(locked)
        if method == FactorMethod.OTP:
            return PreparedFactor(method, None, service.choose_mail(locked, session.id, limits=limits))
        return PreparedFactor(method, *service.prepare_app(locked, session.id, limits=limits))

    return UnrecordedAct(record)


def disable(user: User, session: CallerSession, *, password: str | None) -> UnrecordedAct[dict[str, bool]]:
    """Remove the second factor, its backup codes and the trusted devices."""
    confirm_identity(user, session, password)
    user_id, link = user.id, _account_page()

    def record() -> dict[str, bool]:
        service.remove(lock_user(user_id), link=link)
        return DONE

    return UnrecordedAct(record)


def app_uri(user: User, session: CallerSession, *, password: str | None) -> UnrecordedAct[dict[str, str]]:
    """Return the URI of the secret for another authenticator app."""
    confirm_identity(user, session, password)
    return UnrecordedAct(lambda: {"uri": service.app_uri(user, session.id)[0]})


def replace_backup_codes(
    user: User, session: CallerSession, *, password: str | None
) -> UnrecordedAct[dict[str, object]]:
    """Replace the backup codes.

    Raises:
        SecondFactorNotEnabled: the user has no second factor.
    """
    confirm_identity(user, session, password)
    user_id, limits = user.id, current_settings().limits.codes

    def record() -> dict[str, object]:
        if not lock_user(user_id).two_factor_enabled:
            raise errors.SecondFactorNotEnabled
        return {"status": True, "backup_codes": service.replace_backup_codes(user_id, limits=limits)}

    return UnrecordedAct(record)


def new_backup_codes(user: User) -> list[str]:
    """Replace the backup codes of a user who has just proved the second factor."""
    return service.replace_backup_codes(lock_user(user.id).id, limits=current_settings().limits.codes)


def confirm_identity(user: User, session: CallerSession, password: str | None) -> None:
    """Compare the password if one was sent. Without it the last proof of the identity must be recent.

    Raises:
        InvalidPassword: the password is wrong.
        ReauthRequired: no password was sent, and the session is too old.
    """
    if password is not None:
        compare_password(user, password)
    else:
        authentication.check_recent(session)


def verify_app_code(code: str, *, trust_device: bool = False) -> UnrecordedAct[ProvedFactor]:
    """Prove the second factor with a code of the authenticator app. The first code confirms the app."""

    def use_code(user: User, session_id: str | None) -> None:
        if service.is_waiting(service.factor_of(user.id), session_id):
            authentication.check_recent(authentication.session())
            _check_passkeys(user)
        service.use_app_code(user, code, session_id=session_id)

    return _verify(use_code, trust_device=trust_device)


def verify_mail_code(code: str, *, trust_device: bool = False) -> UnrecordedAct[ProvedFactor]:
    """Prove the second factor with a mailed code."""
    return _verify(lambda user, _: service.use_mail_code(user, code), trust_device=trust_device)


def verify_backup_code(
    code: str, *, trust_device: bool = False, disable_session: bool = False
) -> UnrecordedAct[ProvedFactor]:
    """Prove the second factor with a backup code. With `disable_session` no session starts."""
    return _verify(
        lambda user, _: service.use_backup_code(user, code),
        trust_device=trust_device and not disable_session,
        opens_session=not disable_session,
    )


def send_code() -> UnrecordedAct[dict[str, bool]]:
    """Mail a code to the user who proves the second factor.

    Raises:
        InvalidChallenge: there is no such user.
        MailNotEnabled: the user has not chosen codes by mail.
        TooManyRequests: too many mails were sent.
    """
    user_id = _applicant().user_id
    if FactorMethod.OTP not in service.methods_of(service.factor_of(user_id)):
        raise errors.MailNotEnabled
    guards.count_mail(user_id)

    def record() -> dict[str, bool]:
        user, factor = lock_user(user_id), service.factor_of(user_id)
        if factor is not None:
            language = language_of(user, authentication.client_info().language)
            jobs.enqueue("auth.send_factor_code", factor_id=factor.id, language=language, priority=10)
        return DONE

    return UnrecordedAct(record)


def request_reset(organization: Organization, user_id: str, *, by: User) -> UnrecordedAct[dict[str, bool]]:
    """Mail a link to a member who has lost the second factor. The link and the password of the member remove it."""
    reset.find_member(organization, user_id, by=by.id)
    guards.count_reset(user_id)
    return UnrecordedAct(lambda: reset.request(organization, user_id, by=by))


def complete_reset(token: str, password: str) -> UnrecordedAct[dict[str, bool]]:
    """Remove the second factor with a mailed token and the password.

    Raises:
        InvalidToken: the token is not valid.
        InvalidEmailOrPassword: the password is wrong.
    """
    user, stored = compare_sign_in(reset.find_by_token(token).email, password)
    user_id, link = user.id, _account_page()
    return UnrecordedAct(lambda: reset.complete(user_id, token, stored, link=link))


def _applicant() -> Applicant:
    """Return the user who proves a second factor. A challenge of the signed-in user is ignored.

    Raises:
        InvalidChallenge: the browser has neither a challenge nor a session.
    """
    session = authentication.session()
    challenge = challenges.find(authentication.read_secret(CHALLENGE_COOKIE))
    if challenge is not None and (session is None or session.user_id != challenge.user_id):
        return Applicant(challenge.user_id, challenge_id=challenge.id)
    if session is None:
        raise errors.InvalidChallenge
    return Applicant(session.user_id, session_id=session.id)


def _verify(
    use_code: Callable[[User, str | None], None], *, trust_device: bool, opens_session: bool = True
) -> UnrecordedAct[ProvedFactor]:
    """Count the attempt, use the code once, and open the session of the sign-in or mark the present one."""
    applicant = _applicant()
    guards.count_attempt(applicant.user_id)
    limits, visitor = current_settings().limits, authentication.client_info()

    def record() -> ProvedFactor:
        user = lock_user(applicant.user_id)
        use_code(user, applicant.session_id)
        guards.clear_attempts(user.id)
        if applicant.session_id is not None:
            service.record_proof(applicant.session_id)
        elif applicant.challenge_id is not None and opens_session:
            remember = challenges.consume(applicant.challenge_id)
            opened = sessions.start(user, visitor, limits=limits.sessions, remember=remember, has_second_factor=True)
            authentication.set_session_cookie(opened)
            authentication.set_cookie(CHALLENGE_COOKIE, "", 0)
        if trust_device:
            token = challenges.trust_device(user, visitor, limits=limits.codes)
            authentication.set_cookie(DEVICE_COOKIE, token, limits.codes.trusted_device_s)
        return ProvedFactor(user, service.remaining_codes(user.id))

    return UnrecordedAct(record)


def _check_passkeys(user: User) -> None:
    """Refuse a set-up in a session that has proved the password only, if the locked user has a passkey.

    Raises:
        SecondFactorRequired: an organization requires a second factor, which the session has not proved.
    """
    current = authentication.caller()
    passkeys.check_set_up(user.id, is_factor_missing=current is not None and current.needs_second_factor)


def _account_page() -> str:
    return f"{current_settings().server.web_url}/sign-in"
