"""Rules of membership: who is invited, changed, removed, and who leaves."""

from collections.abc import Mapping
from datetime import timedelta

import sqlalchemy as sa

from app.core.emails import email_key
from app.core.errors import Conflict, LimitReached, NotAllowed, NotFound
from app.core.limits import CodeLimits
from app.core.permissions import Role
from app.extensions import db, jobs
from app.models.base import moment
from app.models.organization import Invitation, Membership, Organization
from app.models.user import User
from app.resources.organization.events import member_left
from app.resources.organization.holds import hold_organizations
from app.resources.user.mail import language_of, notify

INVITED_FOR = timedelta(seconds=CodeLimits().invitation_ttl_s)

Outcome = Mapping[str, object]


class OwnerCannotLeave(NotAllowed):
    """Ownership is handed over first (403)."""

    code, message = "OWNER_CANNOT_LEAVE", "Hand the organization over to another member first"


def invite(organization: Organization, email: str, role: Role, *, by: User, limit: int, web_url: str) -> Outcome:
    """Give a verified user of exactly that e-mail a place at once, or keep one for whoever verifies it within 7 days.

    Repeating an invitation renews it. The mail leaves after commit.

    Raises:
        Conflict: that user is a member already.
        LimitReached: members and open invitations use up `limit`.
    """
    hold_organizations(organization.id)
    key = email_key(email)
    # Locked, so that an e-mail being verified right now is seen either here or, with the invitation, over there.
    user = db.session.scalar(
        sa.select(User)
        .where(User.email_key == key)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if user is not None and _place(organization, user.id) is not None:
        raise Conflict("This person is already a member", code="ALREADY_MEMBER")
    open_invitation = _invitation(organization, key)
    if open_invitation is None or open_invitation.expires_at <= moment():
        _check_room(organization, limit)
    if user is not None and user.email_verified:
        outcome = _add(organization, user, role, open_invitation)
        notify(user, "member_added", inviter=by.name, organization=organization.name, link=web_url)
        return outcome
    outcome = _keep_place(organization, open_invitation, email, key, role, by)
    _mail_invitation(organization, email, by, web_url)
    return outcome


def change_role(
    organization: Organization, role: Role, *, by: User, member_id: str | None, email: str | None
) -> Outcome:
    """Make a member an admin or editor.

    Raises:
        NotFound: there is no such member.
        NotAllowed: the member is the owner, or is `by`.
    """
    hold_organizations(organization.id)
    place = _target(organization, by=by, member_id=member_id, email=email)
    place.role = role
    db.session.flush()
    return {"user_id": place.user_id, "role": role}


def remove(organization: Organization, *, by: User, member_id: str | None, email: str | None) -> Outcome:
    """Remove a member, or take back the invitation of an e-mail.

    Raises:
        NotFound: there is neither.
        NotAllowed: the member is the owner, or is `by`.
    """
    hold_organizations(organization.id)
    invitation = _invitation(organization, email_key(email)) if email is not None else None
    if invitation is not None:
        db.session.delete(invitation)
        return {"user_id": None, "removed": True}
    place = _target(organization, by=by, member_id=member_id, email=email)
    _end(organization, place)
    return {"user_id": place.user_id, "removed": True}


def leave(organization: Organization, *, by: User) -> Outcome:
    """Give up one's own place.

    Raises:
        OwnerCannotLeave: `by` owns it.
        NotFound: they were removed meanwhile.
    """
    hold_organizations(organization.id)
    place = _place(organization, by.id)
    if place is None:
        raise NotFound("You are no longer a member")
    if place.role == Role.OWNER:
        raise OwnerCannotLeave
    _end(organization, place)
    return {"org_id": organization.id, "left": True}


def accept_invitations(user: User) -> None:
    """Turn the open invitations of a newly verified e-mail into memberships; the expired ones go."""
    invitations = db.session.scalars(sa.select(Invitation).where(Invitation.email_key == user.email_key)).all()
    for invitation in invitations:
        if invitation.expires_at > moment():
            _join(invitation.organization_id, user.id, invitation.role)
        db.session.delete(invitation)
    db.session.flush()


def _add(organization: Organization, user: User, role: Role, invitation: Invitation | None) -> Outcome:
    if invitation is not None:
        db.session.delete(invitation)
    _join(organization.id, user.id, role)
    return {"email": user.email, "role": role, "user_id": user.id, "status": "active"}


def _join(organization_id: str, user_id: str, role: Role) -> None:
    """Add the membership; one that is there already stays as it is."""
    try:
        with db.session.begin_nested():
            db.session.add(Membership(organization_id=organization_id, user_id=user_id, role=role))
    except sa.exc.IntegrityError:
        return


def _keep_place(
    organization: Organization, invitation: Invitation | None, email: str, key: str, role: Role, by: User
) -> Outcome:
    if invitation is None:
        invitation = Invitation(organization_id=organization.id, email_key=key)
        db.session.add(invitation)
    invitation.email, invitation.role, invitation.invited_by = email, role, by.id
    invitation.expires_at = moment() + INVITED_FOR
    db.session.flush()
    return {"email": email, "role": role, "user_id": None, "status": "invited"}


def _mail_invitation(organization: Organization, email: str, by: User, web_url: str) -> None:
    """In the inviter's language: nothing is known of the reader's."""
    jobs.enqueue(
        "mail.send",
        to=email,
        template="invitation",
        language=language_of(by),
        inviter=by.name,
        organization=organization.name,
        days=INVITED_FOR.days,
        link=web_url,
    )


def _check_room(organization: Organization, limit: int) -> None:
    members = sa.select(sa.func.count()).where(Membership.organization_id == organization.id).scalar_subquery()
    invited = (
        sa.select(sa.func.count())
        .where(Invitation.organization_id == organization.id, Invitation.expires_at > moment())
        .scalar_subquery()
    )
    if db.session.execute(sa.select(members + invited)).scalar_one() >= limit:
        raise LimitReached(f"An organization has at most {limit} members")


def _target(organization: Organization, *, by: User, member_id: str | None, email: str | None) -> Membership:
    found = db.session.execute(
        sa.select(Membership)
        .join(User, User.id == Membership.user_id)
        .where(
            Membership.organization_id == organization.id,
            User.id == member_id if member_id is not None else User.email_key == email_key(email or ""),
        )
        .execution_options(populate_existing=True)
    ).scalar_one_or_none()
    if found is None:
        raise NotFound("This user is not a member")
    if found.role == Role.OWNER or found.user_id == by.id:
        raise NotAllowed("The owner and you yourself cannot be changed here")
    return found


def _end(organization: Organization, place: Membership) -> None:
    db.session.delete(place)
    db.session.flush()
    member_left.announce(organization, place.user_id)


def _place(organization: Organization, user_id: str) -> Membership | None:
    return db.session.get(Membership, (organization.id, user_id), populate_existing=True)


def _invitation(organization: Organization, key: str) -> Invitation | None:
    return db.session.scalar(
        sa.select(Invitation).where(Invitation.organization_id == organization.id, Invitation.email_key == key)
    )
