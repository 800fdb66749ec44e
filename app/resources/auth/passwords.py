"""The rules of forgotten, reset and changed passwords. Compares and hashes nothing: that is done before."""

from app.core.errors import NotAllowed
from app.core.limits import SessionLimits
from app.core.urls import parts_of
from app.extensions import db
from app.models.login import Session
from app.models.user import User
from app.resources.auth import codes, service
from app.resources.user import passwords, sessions
from app.resources.user.mail import notify
from app.resources.user.sessions import Opened

RESET_PAGE = "/reset-password"


class InvalidRedirect(NotAllowed):
    """A page outside the allowed origins (403)."""

    code, message = "INVALID_REDIRECT", "This page is not one of the service's own"


def own_page(address: str | None, *, web_url: str, origins: tuple[str, ...], otherwise: str) -> str:
    """The absolute address of a page of ours: a path below the web app, or an address of an allowed origin.

    Raises:
        InvalidRedirect: it leads elsewhere, or would in some browser.
    """
    if not address:
        return f"{web_url}{otherwise}"
    if any(char <= " " or char == "\\" or char == "\x7f" for char in address):
        raise InvalidRedirect
    if address.startswith("/") and not address.startswith("//"):
        return f"{web_url}{address}"
    parts = parts_of(address)
    if parts.username is not None or f"{parts.scheme}://{parts.netloc}".lower() not in origins:
        raise InvalidRedirect
    return address


def forget(email_key: str, *, page: str, language: str, may_mail: bool) -> dict[str, bool]:
    """Have a reset link mailed; the answer and the work are the same whether the e-mail is known or not."""
    if may_mail:
        codes.request_reset(email_key, page=page.partition("#")[0], language=language)
    return {"status": True}


def reset(proof: tuple[str, str | None], password_hash: str, *, link: str) -> dict[str, bool]:
    """Use the token up and set the password; every session, code and token of the user ends.

    Raises:
        InvalidToken: the token was used by somebody else, or superseded.
    """
    row = codes.use(*proof)
    if row is None or row.user_id is None:
        raise codes.InvalidToken
    user = db.session.get_one(User, row.user_id, with_for_update=True, populate_existing=True)
    if not user.email_verified:
        service.drop_ways_in(user)
        codes.settle(user.email_key)
    passwords.set_hash(user, password_hash)
    sessions.end_all(user.id)
    notify(user, "password_changed", link=link)
    return {"status": True}


def change(
    user: User,
    session: Session,
    hashes: tuple[str | None, str],
    *,
    revoke_others: bool,
    limits: SessionLimits,
    link: str,
) -> Opened:
    """Replace the password that was compared (the first hash) by a new one (the second); the session's token is new."""
    was, password_hash = hashes
    passwords.replace(user, password_hash, was=was)
    if revoke_others:
        sessions.end_all(user.id, but=session.id)
    notify(user, "password_changed", link=link)
    return sessions.renew(session, user, limits=limits)
