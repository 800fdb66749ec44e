"""Rules of organizations themselves. Knows tables, events and jobs; knows no request and no response."""

from typing import Any

import sqlalchemy as sa

from app.core.errors import Conflict, Invalid, LimitReached, NotAllowed, NotFound
from app.core.limits import Limits
from app.core.permissions import Role
from app.extensions import db
from app.models.base import moment
from app.models.media_rules import image_fault, release_image
from app.models.organization import Membership, Organization, Status
from app.models.project import Project
from app.models.user import User
from app.resources.organization.events import organization_deleting
from app.resources.organization.holds import hold_organizations, hold_users

DEFAULT_NAME = "Personal"


def create(name: str, *, image: str | None, settings: dict[str, Any], by: User, limit: int) -> Organization:
    """Make an organization that `by` owns.

    Raises:
        LimitReached: they own `limit` already, default and archived ones counted.
        Conflict: they own one of that name.
        Invalid: they may not use the image.
    """
    _check_image(image, by, None)
    hold_users(by.id)
    _check_owned(by.id, limit)
    return _insert(name, owner_id=by.id, image=image, settings=settings)


def ensure_default(user: User) -> Organization:
    """Return the user's fallback organization, creating it once even under concurrent calls (unique index).

    It does not count against the limit: everybody has one to fall back to.
    """
    found = _default_of(user.id)
    if found is not None:
        return found
    hold_users(user.id)
    found = _default_of(user.id)
    if found is not None:
        return found
    try:
        return _insert(_free_name(user.id), owner_id=user.id, is_default=True)
    except Conflict:
        found = _default_of(user.id)
        if found is None:
            raise
        return found


def update(organization: Organization, changes: dict[str, Any], *, by: User) -> Organization:
    """Change name, image or settings; `changes` holds the columns to change.

    Raises:
        Conflict: its owner has another organization of that name.
        Invalid: `by` may not use the image.
    """
    _check_image(changes.get("image"), by, organization.id)
    old_image = organization.image
    try:
        with db.session.begin_nested():
            for column, value in changes.items():
                setattr(organization, column, value)
    except sa.exc.IntegrityError as taken:
        raise _name_taken() from taken
    if organization.image != old_image:
        release_image(old_image, organization_id=organization.id)
    return organization


def set_status(organization: Organization, status: Status) -> Organization:
    """Archive it or make it active again.

    Raises:
        Conflict: it is the default one, which stays active.
    """
    if organization.is_default and status == Status.ARCHIVED:
        raise Conflict("The default organization cannot be archived", code="DEFAULT_ORGANIZATION")
    organization.status = status
    db.session.flush()
    return organization


def transfer(organization: Organization, member_id: str, *, by: User, limits: Limits) -> Organization:
    """Make another member the owner; the old one becomes an admin.

    Raises:
        NotAllowed: `by` is the target.
        NotFound: the target is no member.
        Conflict: `by` handed it over meanwhile, it is the default one, or the new owner has one of that name.
        LimitReached: the new owner has no place left for it or for its active projects.
    """
    hold_organizations(organization.id)
    places = {place.user_id: place for place in _owner_and(organization, member_id)}
    old, new = places.get(by.id), places.get(member_id)
    if old is None or old.role != Role.OWNER:
        raise Conflict("The organization has another owner by now", code="OWNER_CHANGED")
    if member_id == by.id:
        raise NotAllowed("Hand the organization over to somebody else")
    if new is None:
        raise NotFound("This user is not a member")
    if organization.is_default:
        raise Conflict("The default organization stays with its owner", code="DEFAULT_ORGANIZATION")
    hold_users(member_id)
    _check_owned(member_id, limits.organizations)
    _check_projects(organization, member_id, limits.projects)
    _swap(organization, old, new)
    return organization


def delete(organization: Organization) -> str:
    """Delete it with its projects (spec 3) and return its id.

    Rows go by foreign key. What lives outside is ended by jobs that the subscribers of `organization_deleting` enqueue.

    Raises:
        Conflict: it is the default one.
    """
    if organization.is_default:
        raise Conflict("The default organization cannot be deleted", code="DEFAULT_ORGANIZATION")
    remove(organization)
    return organization.id


def remove(organization: Organization) -> None:
    """Delete any organization: for its owner's account going away."""
    hold_organizations(organization.id)
    organization_deleting.announce(organization)
    db.session.flush()
    db.session.execute(
        sa.delete(Organization).where(Organization.id == organization.id).execution_options(synchronize_session=False)
    )


def _insert(name: str, *, owner_id: str, **values: Any) -> Organization:
    organization = Organization(name=name, owner_id=owner_id, **values)
    try:
        with db.session.begin_nested():
            db.session.add(organization)
            db.session.flush()
            db.session.add(Membership(organization_id=organization.id, user_id=owner_id, role=Role.OWNER))
    except sa.exc.IntegrityError as taken:
        raise _name_taken() from taken
    return organization


def _swap(organization: Organization, old: Membership, new: Membership) -> None:
    """One owner at every statement: the unique index allows no second, so the old one steps back first."""
    try:
        with db.session.begin_nested():
            old.role = Role.ADMIN
            db.session.flush()
            new.role = Role.OWNER
            organization.owner_id, organization.updated_at = new.user_id, moment()
    except sa.exc.IntegrityError as taken:
        raise _name_taken() from taken


def _owner_and(organization: Organization, member_id: str) -> list[Membership]:
    return list(
        db.session.scalars(
            sa.select(Membership)
            .where(
                Membership.organization_id == organization.id,
                sa.or_(Membership.user_id == member_id, Membership.role == Role.OWNER),
            )
            .execution_options(populate_existing=True)
        )
    )


def _default_of(user_id: str) -> Organization | None:
    return db.session.scalar(sa.select(Organization).where(Organization.owner_id == user_id, Organization.is_default))


def _free_name(user_id: str) -> str:
    taken = set(db.session.scalars(sa.select(Organization.name).where(Organization.owner_id == user_id)))
    names = (DEFAULT_NAME if number == 1 else f"{DEFAULT_NAME} {number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _check_image(key: str | None, by: User, organization_id: str | None) -> None:
    fault = image_fault(key, by.id, organization_id) if key is not None else None
    if fault is not None:
        raise Invalid.field("org_image", fault)


def _check_owned(user_id: str, limit: int) -> None:
    owned = db.session.scalar(sa.select(sa.func.count()).where(Organization.owner_id == user_id)) or 0
    if owned >= limit:
        raise LimitReached(f"At most {limit} organizations can be owned")


def _check_projects(organization: Organization, user_id: str, limit: int) -> None:
    """The new owner's active projects and this organization's together."""
    count = db.session.scalar(
        sa.select(sa.func.count())
        .select_from(Project)
        .join(Organization, Organization.id == Project.organization_id)
        .where(
            Project.status == Status.ACTIVE,
            sa.or_(Organization.owner_id == user_id, Organization.id == organization.id),
        )
    )
    if (count or 0) > limit:
        raise LimitReached(f"At most {limit} active projects can be owned")


def _name_taken() -> Conflict:
    return Conflict("There is already an organization of this name", code="NAME_TAKEN")
