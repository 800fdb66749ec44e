"""Removal of a lost second factor: an owner requests a mail, whose link and the password of the member remove it."""

import sqlalchemy as sa
import structlog

from app.core.errors import NotFound, PermissionDenied
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.organization import Membership, Organization
from app.models.second_factor import SecondFactor
from app.models.user import User
from app.resources.auth.one_time_codes import InvalidToken
from app.resources.auth.passkeys import service as passkeys
from app.resources.auth.two_factor import service
from app.resources.auth.two_factor.errors import SecondFactorNotEnabled
from app.resources.user import sessions
from app.resources.user.locks import lock_user
from app.resources.user.mail import language_of, notify
from app.security.secrets import hash_token

log = structlog.get_logger(__name__)


def find_member(organization: Organization, user_id: str, *, by: str) -> User:
    """Return a member with a second factor or a passkey.

    Raises:
        PermissionDenied: the member is `by`, who can use a backup code.
        NotFound: the user is not a member.
        SecondFactorNotEnabled: the member has no second factor.
    """
    if user_id == by:
        raise PermissionDenied("You cannot reset your own second factor. Use a backup code")
    user = db.session.scalar(
        sa.select(User)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.organization_id == organization.id, User.id == user_id)
    )
    if user is None:
        raise NotFound("This user is not a member")
    if not user.two_factor_enabled and not passkeys.of_user(user.id):
        raise SecondFactorNotEnabled
    return user


def request(organization: Organization, user_id: str, *, by: User) -> dict[str, bool]:
    """Enqueue the mail with the link. The second factor stays until the member has opened it.

    Raises:
        NotFound, SecondFactorNotEnabled: the member or the second factor no longer exists.
        AccountDeleted: another request deleted the account.
    """
    user = lock_user(find_member(organization, user_id, by=by.id).id)
    factor = service.ensure(user)
    factor.reset_by, factor.reset_hash = by.id, None  # The link of an earlier mail ends.
    db.session.flush()
    jobs.enqueue(
        "auth.send_factor_reset",
        factor_id=factor.id,
        owner=by.name,
        organization=organization.name,
        language=language_of(user),
        unique=f"auth.send_factor_reset:{factor.id}",
        priority=10,
    )
    log.info("second_factor.reset_requested", user_id=user.id, organization_id=organization.id, owner_id=by.id)
    return {"status": True}


def find_by_token(token: str) -> User:
    """Return the user of a valid token.

    Raises:
        InvalidToken: the token is not valid.
    """
    user = db.session.scalar(sa.select(User).join(SecondFactor, SecondFactor.user_id == User.id).where(*_valid(token)))
    if user is None:
        raise InvalidToken
    return user


def complete(user_id: str, token: str, password_hash: str, *, link: str) -> dict[str, bool]:
    """Remove the factor and the passkeys of a user whose password was compared with `password_hash`. All sessions end.

    Raises:
        InvalidToken: another request used the token or changed the password, or a newer mail was sent.
        AccountDeleted: another request deleted the account.
    """
    user = lock_user(user_id)
    factor = db.session.scalar(
        sa.select(SecondFactor).where(SecondFactor.user_id == user.id, *_valid(token)).with_for_update()
    )
    if factor is None or user.password_hash != password_hash:
        raise InvalidToken
    owner = db.session.get(User, factor.reset_by) if factor.reset_by is not None else None
    db.session.expunge(factor)
    service.remove(user, link=link, with_passkeys=True)
    sessions.end_all(user.id)
    if owner is not None:
        notify(owner, "second_factor_reset_done", member=user.email)
    log.info("second_factor.reset", user_id=user.id, owner_id=owner.id if owner is not None else None)
    return {"status": True}


def _valid(token: str) -> tuple[sa.ColumnElement[bool], ...]:
    return SecondFactor.reset_hash == hash_token(token), SecondFactor.reset_expires_at > utcnow_ms()
