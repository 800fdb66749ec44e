"""Rules of organizations: creation, change, transfer and deletion."""

from datetime import UTC, datetime, time
from typing import Any

import sqlalchemy as sa

from app.core.errors import Conflict, ErrorMessage, InvalidRequest, LimitReached, NotFound, PermissionDenied
from app.core.permissions import Access, Role
from app.database.transactions import savepoint
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.organization import ArchiveStatus, Membership, Organization
from app.models.project import Project
from app.models.user import User
from app.resources.media_asset.service import image_error, release_image
from app.resources.organization.events import member_role_changed, organization_deleting
from app.resources.organization.locks import lock_organizations, lock_users
from app.resources.organization.members import change_of, choose
from app.resources.user.creation_limits import limits_of

DEFAULT_NAME = "Personal"


def create(name: str, *, image: str | None, settings: dict[str, object], by: User, limit: int) -> Organization:
    """Create an organization that `by` owns.

    Raises:
        LimitReached: `by` owns `limit` organizations, including default and archived ones.
        Conflict: `by` owns an organization of this name.
        InvalidRequest: `by` may not use the image.
    """
    _check_image(image, by, None)
    lock_users(by.id)
    _check_owned(by.id, limit)
    return _insert(name, owner_id=by.id, image=image, settings=settings)


def ensure_default(user: User) -> Organization:
    """Return the default organization of a user. Create it if it does not exist.

    Concurrent calls create one organization (unique index). The limit does not apply.
    """
    default = _default_of(user.id)
    if default is not None:
        return default
    lock_users(user.id)
    default = _default_of(user.id)
    if default is not None:
        return default
    try:
        return _insert(_free_name(user.id), owner_id=user.id, is_default=True)
    except (Conflict, sa.exc.IntegrityError):  # the name or the default organization exists
        default = _default_of(user.id)
        if default is None:
            raise
        return default


def update(organization: Organization, changes: dict[str, Any], *, by: User) -> Organization:
    """Change the columns in `changes`: name, image, settings or the requirement of a second factor.

    Raises:
        Conflict: the owner has another organization of this name.
        InvalidRequest: `by` may not use the image, or a day was sent without the requirement.
    """
    changes = _with_requirement(organization, changes)
    _check_image(changes.get("image"), by, organization.id)
    old_image = organization.image
    with savepoint(_name_taken, Organization.owner_id, Organization.name):
        for column, value in changes.items():
            setattr(organization, column, value)
    if organization.image != old_image:
        release_image(old_image, organization_id=organization.id)
    return organization


def _with_requirement(organization: Organization, changes: dict[str, Any]) -> dict[str, Any]:
    """Replace the two fields of the requirement by the column. Without a day it applies at once."""
    present, others = organization.second_factor_from, dict(changes)
    is_required = others.pop("require_second_factor", present is not None)
    has_day, day = "second_factor_from" in others, others.pop("second_factor_from", None)
    if day is not None and not is_required:
        raise InvalidRequest.field("second_factor_from", "Send require_second_factor as well.")
    start = datetime.combine(day, time.min, UTC) if day is not None else present
    required_from = (start if day is not None or not has_day else None) or utcnow_ms()
    return others | {"second_factor_from": required_from if is_required else None}


def set_status(organization: Organization, status: ArchiveStatus) -> Organization:
    """Archive or reactivate an organization.

    Raises:
        Conflict: the default organization cannot be archived.
    """
    if organization.is_default and status == ArchiveStatus.ARCHIVED:
        raise Conflict("The default organization cannot be archived", code="DEFAULT_ORGANIZATION")
    organization.status = status
    db.session.flush()
    return organization


def transfer(organization: Organization, member_id: str, *, by: User) -> Organization:
    """Make another member the owner. The previous owner becomes an admin.

    Raises:
        PermissionDenied: `by` is the target.
        NotFound: the target is not a member.
        Conflict: the owner has changed, it is the default organization, or the new owner has one of this name.
        LimitReached: the new owner reaches the limit of organizations or active projects.
    """
    lock_organizations(organization.id)
    memberships = {membership.user_id: membership for membership in _owner_and(organization, member_id)}
    old, new = memberships.get(by.id), memberships.get(member_id)
    if old is None or old.role != Role.OWNER:
        raise Conflict("The owner of the organization has changed. Reload and try again", code="OWNER_CHANGED")
    if member_id == by.id:
        raise PermissionDenied("The organization cannot be transferred to its owner")
    if new is None:
        raise NotFound("This user is not a member")
    if organization.is_default:
        raise Conflict("The default organization cannot be transferred", code="DEFAULT_ORGANIZATION")
    lock_users(member_id)
    limits = limits_of(member_id)
    _check_owned(member_id, limits.organizations)
    _check_projects(organization, member_id, limits.projects)
    _swap(organization, old, new)
    return organization


def delete(organization: Organization) -> str:
    """Delete the organization and its projects (spec 3), and return its id.

    Foreign keys delete the rows. Subscribers of `organization_deleting` enqueue jobs for objects outside the database.

    Raises:
        Conflict: the default organization cannot be deleted.
    """
    if organization.is_default:
        raise Conflict(ErrorMessage("The default organization cannot be deleted"), code="DEFAULT_ORGANIZATION")
    remove(organization)
    return organization.id


def remove(organization: Organization) -> None:
    """Delete an organization, also the default one when the account of the owner is deleted."""
    lock_organizations(organization.id)
    organization_deleting.publish(organization)
    db.session.flush()
    db.session.execute(
        sa.delete(Organization).where(Organization.id == organization.id).execution_options(synchronize_session=False)
    )


def _insert(name: str, *, owner_id: str, **values: object) -> Organization:
    organization = Organization(name=name, owner_id=owner_id, **values)
    with savepoint(_name_taken, Organization.owner_id, Organization.name):
        db.session.add(organization)
        db.session.flush()
        db.session.add(Membership(organization_id=organization.id, user_id=owner_id, role=Role.OWNER))
    return organization


def _swap(organization: Organization, old: Membership, new: Membership) -> None:
    """Change both roles. The unique index allows one owner, so the previous owner is changed first.

    The new owner sees all projects.
    """
    with savepoint(_name_taken, Organization.owner_id, Organization.name):
        old.role = Role.ADMIN
        db.session.flush()
        new.role, new.access = Role.OWNER, Access.ALL
        choose(organization.id, new.user_id, ())
        organization.owner_id, organization.updated_at = new.user_id, utcnow_ms()
    for membership in (old, new):
        member_role_changed.publish(change_of(membership))


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
    fault = image_error(key, by.id, organization_id) if key is not None else None
    if fault is not None:
        raise InvalidRequest.field("org_image", fault)


def _check_owned(user_id: str, limit: int) -> None:
    owned = db.session.scalar(sa.select(sa.func.count()).where(Organization.owner_id == user_id)) or 0
    if owned >= limit:
        raise LimitReached(ErrorMessage("At most %(limit)s organizations can be owned", limit=limit))


def _check_projects(organization: Organization, user_id: str, limit: int) -> None:
    """Check the active projects of the new owner together with those of the organization."""
    count = db.session.scalar(
        sa.select(sa.func.count())
        .select_from(Project)
        .join(Organization, Organization.id == Project.organization_id)
        .where(
            Project.status == ArchiveStatus.ACTIVE,
            sa.or_(Organization.owner_id == user_id, Organization.id == organization.id),
        )
    )
    if (count or 0) > limit:
        raise LimitReached(ErrorMessage("At most %(limit)s active projects can be owned", limit=limit))


def _name_taken() -> Conflict:
    return Conflict(ErrorMessage("An organization of this name already exists"), code="NAME_TAKEN")
