"""Rules for forgotten and reset passwords. The actions compare and hash passwords."""

from app.core.errors import PermissionDenied
from app.core.urls import split_url
from app.resources.auth import one_time_codes, service
from app.resources.user import passwords, sessions
from app.resources.user.events import password_reset
from app.resources.user.locks import lock_user
from app.resources.user.mail import notify

RESET_PAGE = "/reset-password"


class InvalidRedirect(PermissionDenied):
    """The page is outside the allowed origins (403)."""

    code, message = "INVALID_REDIRECT", "The page is not on an allowed origin"


def resolve_redirect(address: str | None, *, web_url: str, origins: tuple[str, ...], otherwise: str) -> str:
    """Return the absolute URL of a page: a path of the web app or a URL of an allowed origin.

    Raises:
        InvalidRedirect: the URL leads to another origin, possibly only in some browsers.
    """
    if not address:
        return f"{web_url}{otherwise}"
    if any(char <= " " or char == "\\" or char == "\x7f" for char in address):
        raise InvalidRedirect
    if address.startswith("/") and not address.startswith("//"):
        return f"{web_url}{address}"
    parts = split_url(address)
    if parts.username is not None or f"{parts.scheme}://{parts.netloc}".lower() not in origins:
        raise InvalidRedirect
    return address


def reset(proof: tuple[str, str | None], password_hash: str, *, link: str) -> dict[str, bool]:
    """Use the token and set the password. End all sessions, codes and tokens of the user.

    Raises:
        InvalidToken: another request used the token, or a newer one was sent.
        AccountDeleted: another request deleted the account.
    """
    row = one_time_codes.consume(*proof)
    if row is None or row.user_id is None:
        raise one_time_codes.InvalidToken
    user = lock_user(row.user_id)
    if not user.email_verified:
        service.remove_credentials(user)
        one_time_codes.clear_contested(user.email_key)
    passwords.set_hash(user, password_hash)
    sessions.end_all(user.id)
    password_reset.publish(user)
    notify(user, "password_changed", link=link)
    return {"status": True}
