"""How organizations follow their people: a verified e-mail brings places, an account that goes takes what it owned."""

from collections.abc import Sequence

import sqlalchemy as sa

from app.core.errors import Conflict
from app.extensions import db
from app.models.organization import Invitation, Membership, Organization
from app.models.user import User
from app.resources.organization import members, service
from app.resources.organization.events import member_left
from app.resources.user.events import email_verified, user_deleting


@email_verified.subscribe
def welcome(user: User) -> None:
    """Turn invitations into memberships and make the default organization."""
    members.accept_invitations(user)
    service.ensure_default(user)


@user_deleting.subscribe
def delete_owned(user: User) -> None:
    """Delete what the user owns, end their places elsewhere and withdraw what invites their e-mail.

    Raises:
        Conflict: an organization of theirs has other members; its message names each.
    """
    owned = db.session.scalars(sa.select(Organization).where(Organization.owner_id == user.id)).all()
    _check_alone(owned, user)
    for organization in owned:
        service.remove(organization)
    for place in db.session.scalars(sa.select(Membership).where(Membership.user_id == user.id)).all():
        organization = db.session.get_one(Organization, place.organization_id)
        db.session.delete(place)
        db.session.flush()
        member_left.announce(organization, user.id)
    db.session.execute(sa.delete(Invitation).where(Invitation.email_key == user.email_key))


def _check_alone(owned: Sequence[Organization], user: User) -> None:
    shared = set(
        db.session.scalars(
            sa.select(Membership.organization_id).where(
                Membership.organization_id.in_([one.id for one in owned]), Membership.user_id != user.id
            )
        )
    )
    named = [organization for organization in owned if organization.id in shared]
    if named:
        raise Conflict(
            "Hand over or delete the organizations you share first, or remove their members: "
            + ", ".join(organization.name for organization in named),
            code="OWNS_ORGANIZATIONS",
            result={"organizations": [{"org_id": one.id, "org_name": one.name} for one in named]},
        )
