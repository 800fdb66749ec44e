"""Rules for sign-up, sign-in and sign-out with e-mail and password. The routes compare and hash passwords."""

from typing import Any

import sqlalchemy as sa

from app.core.client_info import ClientInfo
from app.core.emails import InvalidEmail, email_key
from app.core.errors import ErrorMessage, NotAuthenticated, PermissionDenied
from app.core.ids import new_id
from app.core.limits import CodeLimits, Limits, TextLengths
from app.core.names import clean_name
from app.database.inserts import insert_or_ignore
from app.extensions import current_settings, db
from app.models.base import utcnow_ms
from app.models.login import OneTimeCode, SocialAccount
from app.models.organization import Invitation
from app.models.user import User, UserPreference
from app.resources.auth import one_time_codes
from app.resources.auth.two_factor.challenges import SignedIn, open_session
from app.resources.user import sessions
from app.resources.user.events import email_verified
from app.resources.user.locks import lock_user
from app.resources.user.mail import language_at, notify

FALLBACK_NAME = "User"
_BRACKETS = str.maketrans("<>", "  ")


class InvalidEmailOrPassword(NotAuthenticated):
    """The e-mail address or the password is wrong. Both causes have one response (401)."""

    code, message = "INVALID_EMAIL_OR_PASSWORD", ErrorMessage("The e-mail address or the password is wrong")


def find(email: str) -> User | None:
    """Return the user with an e-mail address, or None for an unknown or malformed one."""
    try:
        key = email_key(email)
    except InvalidEmail:
        return None
    return db.session.scalar(sa.select(User).where(User.email_key == key))


def password_of(email: str) -> str | None:
    """Return the password hash of the user with an e-mail address, or None. Both cases take the same time."""
    return db.session.scalar(sa.select(User.password_hash).where(User.email_key == account_key(email)))


def account_key(email: str) -> str:
    """Return the key by which failed sign-ins are counted, also for a text that is not an e-mail address."""
    try:
        return email_key(email)
    except InvalidEmail:
        return email.strip().lower()


def find_owner(row: OneTimeCode) -> User:
    """Return the user to whom a code or token was mailed.

    Raises:
        InvalidToken: the user no longer exists.
    """
    user = db.session.get(User, row.user_id)
    if user is None:
        raise one_time_codes.InvalidToken
    return user


def sign_up(
    values: dict[str, object],
    password_hash: str,
    *,
    is_known_password: bool,
    may_notify: bool,
    visitor: ClientInfo,
    limits: CodeLimits,
    timezone: str | None = None,
) -> User:
    """Register a user and enqueue a code.

    The response for a known e-mail address contains a generated user and takes the same time: the same statements run,
    and the job decides which mail is sent. A second sign-up with another password makes an unverified account
    contested, because the owner of the e-mail address is not known.
    """
    user = _new_user(values, password_hash)
    contested = not (_insert_unless_known(user) or is_known_password)
    language = language_at(user.email_key, visitor.language)
    one_time_codes.request_for_sign_up(
        user.email_key, limits=limits, language=language, contested=contested, may_notify=may_notify
    )
    if timezone is not None:
        _store_zone(user, language=visitor.language, timezone=timezone)
    return user


def _insert_unless_known(user: User) -> bool:
    """Insert a user and return whether the e-mail address was unknown. An existing user is not changed."""
    columns = User.__table__.columns.keys()
    values = {name: getattr(user, name) for name in columns}
    dialect = db.session.connection().dialect.name
    statement = insert_or_ignore(dialect, User.__table__, values, unique=["email_key"])
    return db.session.scalar(statement.returning(User.__table__.c.id)) is not None


def _store_zone(user: User, *, language: str, timezone: str) -> None:
    """Store the time zone of a new user. For a user who was not inserted, the statement runs and stores nothing.

    The equal times mean that the user has not chosen them: the console still follows the language of the browser.
    """
    columns, now = UserPreference.__table__.c, user.created_at
    values = {"language": language, "timezone": timezone, "created_at": now, "updated_at": now}
    row = sa.select(User.id, *(sa.literal(value, columns[name].type) for name, value in values.items()))
    db.session.execute(sa.insert(UserPreference).from_select(["user_id", *values], row.where(User.id == user.id)))


def _new_user(values: dict[str, Any], password_hash: str) -> User:
    now, email = utcnow_ms(), values["email"]
    return User(
        id=new_id("usr"),
        email=email,
        email_key=email_key(email),
        email_verified=False,
        name=values["name"] or display_name(values["name"], email),
        country=values["country"],
        subscribed=values["subscribed"],
        is_admin=False,
        two_factor_enabled=False,
        provider="credential",
        password_hash=password_hash,
        created_at=now,
        updated_at=now,
    )


def display_name(name: str | None, email: str) -> str:
    """Return a valid name for a new user: the name, or the local part of the e-mail address."""
    for text in (name or "", email.partition("@")[0]):
        if cleaned := clean_name(text.translate(_BRACKETS))[: TextLengths.USER_NAME].strip():
            return cleaned
    return FALLBACK_NAME


def sign_in(
    user_id: str,
    password_hash: str,
    *,
    visitor: ClientInfo,
    limits: Limits,
    device: str | None,
    remember: bool = True,
) -> SignedIn:
    """Open a session for a user whose password was compared with `password_hash`, or ask for the second factor.

    `device` is the token of a trusted device.

    Raises:
        AccountDeleted: another request deleted the account.
        InvalidEmailOrPassword: another request changed the password.
    """
    user = lock_user(user_id)
    if user.password_hash != password_hash:
        raise InvalidEmailOrPassword
    return open_session(user, visitor, device=device, limits=limits, remember=remember)


def verify_email(
    proof: tuple[str, str | None], *, visitor: ClientInfo, limits: Limits, device: str | None, web_url: str
) -> SignedIn:
    """Use the code, verify the e-mail address and sign in its owner.

    Earlier sessions end. A contested account also loses its password and social accounts.

    Raises:
        InvalidOtp: another request used the code, or a newer one was sent.
        AccountDeleted: another request deleted the account.
    """
    row = one_time_codes.consume(*proof)
    if row is None or row.user_id is None:
        raise one_time_codes.InvalidOtp
    user = lock_user(row.user_id)
    sessions.end_all(user.id)
    if row.contested:
        row.contested = False
        remove_credentials(user)
        notify(user, "password_dropped", otherwise=visitor.language, link=f"{web_url}/forgot-password")
    confirm(user)
    return open_session(user, visitor, device=device, limits=limits)


def confirm(user: User) -> None:
    """Mark the e-mail address as verified and publish the event once."""
    if not user.email_verified:
        user.email_verified = True
        db.session.flush()
        email_verified.publish(user)


def remove_credentials(user: User, *, but: tuple[str, str] | None = None) -> None:
    """Remove the password and the social accounts, which another person may have set up.

    `but` is the (provider, subject) of a social account that stays.
    """
    user.password_hash = None
    retained = sa.and_(SocialAccount.provider == but[0], SocialAccount.subject == but[1]) if but else sa.false()
    db.session.execute(sa.delete(SocialAccount).where(SocialAccount.user_id == user.id, sa.not_(retained)))
    db.session.flush()


class SignUpClosed(PermissionDenied):
    """A sign-up that the operator does not accept (403)."""

    code, message = (
        "SIGN_UP_CLOSED",
        ErrorMessage("This installation does not accept new accounts without an invitation"),
    )


def check_sign_up(email_key: str) -> None:
    """Check that an account may be created for an e-mail address.

    The response for an address with an account is the same as for one without.

    Raises:
        SignUpClosed: new accounts are closed, or the address has no open invitation.
    """
    policy = current_settings().server.sign_up
    if policy == "open" or (policy == "invited" and _is_invited(email_key)):
        return
    raise SignUpClosed


def _is_invited(email_key: str) -> bool:
    open_invitation = sa.select(Invitation.id).where(
        Invitation.email_key == email_key, Invitation.expires_at > utcnow_ms()
    )
    return db.session.scalar(open_invitation.limit(1)) is not None
