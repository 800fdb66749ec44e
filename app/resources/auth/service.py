"""The rules of signing up, in and out with e-mail and password. Compares and hashes no password: that is done before."""

from typing import Any

import sqlalchemy as sa

from app.core.emails import InvalidEmail, email_key
from app.core.errors import NotSignedIn
from app.core.ids import new_id
from app.core.limits import CodeLimits, SessionLimits
from app.core.upserts import insert_unless_there
from app.core.visitor import Visitor
from app.extensions import db
from app.models.base import moment
from app.models.login import Account, OneTimeCode, Session
from app.models.user import User
from app.resources.auth import codes
from app.resources.user import sessions
from app.resources.user.events import email_verified
from app.resources.user.mail import language_at, notify
from app.resources.user.sessions import Opened


class InvalidEmailOrPassword(NotSignedIn):
    """Unknown e-mail or wrong password: one answer (401)."""

    code, message = "INVALID_EMAIL_OR_PASSWORD", "The e-mail or the password is not right"


def find(email: str) -> User | None:
    """The user with that e-mail; None also for what is no e-mail."""
    try:
        key = email_key(email)
    except InvalidEmail:
        return None
    return db.session.scalar(sa.select(User).where(User.email_key == key))


def password_of(email: str) -> str | None:
    """The stored hash of the user with that e-mail; None where there is none, in the same time."""
    return db.session.scalar(sa.select(User.password_hash).where(User.email_key == account_key(email)))


def account_key(email: str) -> str:
    """What an account is counted by, also where there is none or the text is no e-mail."""
    try:
        return email_key(email)
    except InvalidEmail:
        return email.strip().lower()


def owner_of(row: OneTimeCode) -> User:
    """The user a code or token was mailed to.

    Raises:
        InvalidToken: there is none any more.
    """
    user = db.session.get(User, row.user_id)
    if user is None:
        raise codes.InvalidToken
    return user


def sign_up(
    values: dict[str, Any],
    password_hash: str,
    *,
    is_known_password: bool,
    may_notify: bool,
    visitor: Visitor,
    limits: CodeLimits,
) -> User:
    """Register, and have a code mailed.

    A known e-mail answers alike, with a made-up user, and takes as long: the same statements run, and what its owner is
    mailed is settled by the job. While it is unverified, a second sign-up with another password makes the account
    contested, because nobody can tell whose password is whose.
    """
    user = _new_user(values, password_hash)
    contested = not (_insert_unless_known(user) or is_known_password)
    language = language_at(user.email_key, visitor.language)
    codes.request_for_sign_up(
        user.email_key, limits=limits, language=language, contested=contested, may_notify=may_notify
    )
    return user


def _insert_unless_known(user: User) -> bool:
    """Whether it is a new row; somebody with that e-mail stays as they are."""
    columns = User.__table__.columns.keys()
    values = {name: getattr(user, name) for name in columns}
    dialect = db.session.connection().dialect.name
    statement = insert_unless_there(dialect, User.__table__, values, unique=["email_key"])
    return db.session.scalar(statement.returning(User.__table__.c.id)) is not None


def _new_user(values: dict[str, Any], password_hash: str) -> User:
    now, email = moment(), values["email"]
    return User(
        id=new_id("usr"),
        email=email,
        email_key=email_key(email),
        email_verified=False,
        name=values["name"] or email.partition("@")[0],
        country=values["country"],
        subscribed=values["subscribed"],
        is_admin=False,
        provider="credential",
        password_hash=password_hash,
        created_at=now,
        updated_at=now,
    )


def request_code(email: str, *, visitor: Visitor, limits: CodeLimits) -> dict[str, bool]:
    """Have a verification code mailed to whoever waits for one; the answer tells nothing."""
    key = email_key(email)
    codes.request_code(key, limits=limits, language=language_at(key, visitor.language))
    return {"success": True}


def sign_in(
    user: User, password_hash: str, *, visitor: Visitor, limits: SessionLimits, remember: bool = True
) -> Opened:
    """Open a session for a user whose password was compared with `password_hash`.

    Raises:
        InvalidEmailOrPassword: the password was changed meanwhile.
    """
    if user.password_hash != password_hash:
        raise InvalidEmailOrPassword
    return sessions.start(user, visitor, limits=limits, remember=remember)


def verify_email(proof: tuple[str, str | None], *, visitor: Visitor, limits: SessionLimits, web_url: str) -> Opened:
    """Use the code up, confirm the e-mail and sign its owner in.

    Whoever got into the account before it was confirmed, gets out: sessions end, and of a contested account password
    and linked logins go.

    Raises:
        InvalidOtp: the code was used by somebody else, or superseded.
    """
    row = codes.use(*proof)
    if row is None or row.user_id is None:
        raise codes.InvalidOtp
    user = db.session.get_one(User, row.user_id, with_for_update=True, populate_existing=True)
    sessions.end_all(user.id)
    if row.contested:
        row.contested = False
        drop_ways_in(user)
        notify(user, "password_dropped", otherwise=visitor.language, link=f"{web_url}/forgot-password")
    confirm(user)
    return sessions.start(user, visitor, limits=limits)


def confirm(user: User) -> None:
    """Note that the e-mail is the user's; announced once."""
    if not user.email_verified:
        user.email_verified = True
        db.session.flush()
        email_verified.announce(user)


def drop_ways_in(user: User, *, but: tuple[str, str] | None = None) -> None:
    """Take away what somebody who does not own the e-mail may have set up: the password and linked logins.

    `but` is the (provider, subject) of a login that stays.
    """
    user.password_hash = None
    kept = sa.and_(Account.provider == but[0], Account.subject == but[1]) if but else sa.false()
    db.session.execute(sa.delete(Account).where(Account.user_id == user.id, sa.not_(kept)))
    db.session.flush()


def sign_out(session: Session | None) -> dict[str, bool]:
    """End the session, if there is one."""
    if session is not None:
        sessions.end(session.user_id, session.id)
    return {"success": True}
