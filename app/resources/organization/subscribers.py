"""Effects of user events on organizations: invitations become memberships, owned organizations are deleted."""

from collections.abc import Sequence

import sqlalchemy as sa

from app.core.errors import Conflict
from app.extensions import db
from app.models.organization import Invitation, Membership, Organization
from app.models.user import User
from app.resources.organization import members, service
from app.resources.organization.events import MemberChange, member_removed, membership_ended
from app.resources.user.events import email_verified, user_deleting


@email_verified.subscribe
def accept_invitations_and_create_default(user: User) -> None:
    """Convert invitations to memberships and create the default organization."""
    members.accept_invitations(user)
    service.ensure_default(user)


@user_deleting.subscribe
def delete_owned(user: User) -> None:
    """Delete the organizations, memberships and invitations of a user.

    Raises:
        Conflict: an owned organization has other members. The message names each.
    """
    owned = db.session.scalars(sa.select(Organization).where(Organization.owner_id == user.id)).all()
    _check_alone(owned, user)
    for organization in owned:
        service.remove(organization)
    for membership in db.session.scalars(sa.select(Membership).where(Membership.user_id == user.id)).all():
        organization = db.session.get_one(Organization, membership.organization_id)
        db.session.delete(membership)
        db.session.flush()
        membership_ended.publish(organization, user.id)
        member_removed.publish(MemberChange(organization.id, user.id, user.email, membership.role))
    db.session.execute(sa.delete(Invitation).where(Invitation.email_key == user.email_key))


def _check_alone(owned: Sequence[Organization], user: User) -> None:
    shared = set(
        db.session.scalars(
            sa.select(Membership.organization_id).where(
                Membership.organization_id.in_([organization.id for organization in owned]),
                Membership.user_id != user.id,
            )
        )
    )
    named = [organization for organization in owned if organization.id in shared]
    if named:
        raise Conflict(
            "Transfer or delete these organizations or remove their members first: "
            + ", ".join(organization.name for organization in named),
            code="OWNS_ORGANIZATIONS",
            result={
                "organizations": [{"org_id": organization.id, "org_name": organization.name} for organization in named]
            },
        )
