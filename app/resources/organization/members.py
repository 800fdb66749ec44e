"""Rules of membership: invitation, role change, removal and departure."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app.core.emails import email_key
from app.core.errors import Conflict, ErrorMessage, LimitReached, NotFound, PermissionDenied
from app.core.limits import CodeLimits
from app.core.permissions import Access, Role
from app.database.inserts import insert_or_ignore
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.organization import Invitation, InvitationProject, Membership, MembershipProject, Organization
from app.models.project import Project
from app.models.user import User
from app.resources.organization.events import (
    MemberChange,
    member_invited,
    member_joined,
    member_removed,
    member_role_changed,
    membership_ended,
)
from app.resources.organization.locks import lock_organizations
from app.resources.user.creation_limits import limits_of
from app.resources.user.mail import language_of, notify
from app.settings.server import ServerSettings

INVITED_FOR = timedelta(seconds=CodeLimits().invitation_ttl_s)

MemberResult = Mapping[str, object]
Chosen = Sequence[Mapping[str, Any]]
"""The projects that a member sees: `project_id` and `role` of each."""


class OwnerCannotLeave(PermissionDenied):
    """The owner cannot leave before a transfer of the organization (403)."""

    code, message = (
        "OWNER_CANNOT_LEAVE",
        ErrorMessage("The owner cannot leave. Transfer the organization to another member first"),
    )


def invite(
    organization: Organization,
    email: str,
    role: Role,
    *,
    by: User,
    server: ServerSettings,
    access: Access | None = None,
    projects: Chosen = (),
) -> MemberResult:
    """Add a verified user with exactly this e-mail address, or create an invitation for 7 days.

    A repeated invitation is renewed. Without `access` it keeps its projects, and a new one is for all. The mail is sent
    after the commit.

    Raises:
        Conflict: the user is already a member.
        NotFound: a project does not belong to the organization.
        LimitReached: members and open invitations reach the limit of the owner.
    """
    lock_organizations(organization.id)
    key = email_key(email)
    # The lock orders this check and a parallel verification of the e-mail address.
    user = db.session.scalar(
        sa.select(User)
        .where(User.email_key == key)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if user is not None and _membership(organization, user.id) is not None:
        raise Conflict(ErrorMessage("This user is already a member"), code="ALREADY_MEMBER")
    open_invitation = _invitation(organization, key)
    if open_invitation is None or open_invitation.expires_at <= utcnow_ms():
        _check_limit(organization)
    if access is None and role == Role.EDITOR and open_invitation is not None:
        access, projects = Access(open_invitation.access), _invited_to(open_invitation)
    access = access or Access.ALL
    _lock_projects(organization.id, access, projects)
    if user is not None and user.email_verified:
        if open_invitation is not None:
            db.session.delete(open_invitation)
        _join(organization.id, user, role, access, projects)
        outcome = {"email": user.email, "role": role, "user_id": user.id, "status": "active"}
        notify(user, "member_added", inviter=by.name, organization=organization.name, link=server.web_url)
        return outcome
    invitation = _create_invitation(organization, open_invitation, email, key, role, by)
    _invite_to(invitation, access, projects)
    _mail_invitation(invitation, organization, by, server.invitation_url)
    member_invited.publish(MemberChange(organization.id, None, email, role))
    return {"email": email, "role": role, "user_id": None, "status": "invited"}


def change_role(
    organization: Organization,
    role: Role,
    *,
    by: User,
    member_id: str | None,
    email: str | None,
    access: Access | None = None,
    projects: Chosen = (),
) -> MemberResult:
    """Change the role of a member to admin or editor, and the projects that the member sees.

    Without `access` an editor keeps the projects. An admin sees all.

    Raises:
        NotFound: the user is not a member, or a project does not belong to the organization.
        PermissionDenied: the member is the owner or `by`.
    """
    lock_organizations(organization.id)
    membership = _target(organization, by=by, member_id=member_id, email=email)
    is_changed, membership.role = membership.role != role, role
    if access is not None or role != Role.EDITOR:
        membership.access = access or Access.ALL
        _lock_projects(organization.id, Access(membership.access), projects)
        choose(membership.organization_id, membership.user_id, projects)
    db.session.flush()
    if is_changed or access is not None:
        member_role_changed.publish(change_of(membership))
    return {"user_id": membership.user_id, "role": role}


def remove(organization: Organization, *, by: User, member_id: str | None, email: str | None) -> MemberResult:
    """Remove a member or an invitation.

    Raises:
        NotFound: there is no such member or invitation.
        PermissionDenied: the member is the owner or `by`.
    """
    lock_organizations(organization.id)
    invitation = _invitation(organization, email_key(email)) if email is not None else None
    if invitation is not None:
        db.session.delete(invitation)
        member_removed.publish(MemberChange(organization.id, None, invitation.email, invitation.role))
        return {"user_id": None, "removed": True}
    membership = _target(organization, by=by, member_id=member_id, email=email)
    _end(organization, membership)
    return {"user_id": membership.user_id, "removed": True}


def leave(organization: Organization, *, by: User) -> MemberResult:
    """Leave an organization.

    Raises:
        OwnerCannotLeave: `by` is the owner.
        NotFound: another request removed the member.
    """
    lock_organizations(organization.id)
    membership = _membership(organization, by.id)
    if membership is None:
        raise NotFound("You are no longer a member")
    if membership.role == Role.OWNER:
        raise OwnerCannotLeave
    _end(organization, membership)
    return {"org_id": organization.id, "left": True}


def accept_invitations(user: User) -> None:
    """Convert the open invitations of a verified e-mail address to memberships. Delete expired ones."""
    invitations = db.session.scalars(sa.select(Invitation).where(Invitation.email_key == user.email_key)).all()
    for invitation in invitations:
        if invitation.expires_at > utcnow_ms():
            access = Access(invitation.access)
            _join(invitation.organization_id, user, invitation.role, access, _invited_to(invitation))
        db.session.delete(invitation)
    db.session.flush()


def change_of(membership: Membership) -> MemberChange:
    """Return the present state of a member."""
    email = db.session.scalar(sa.select(User.email).where(User.id == membership.user_id)) or ""
    return MemberChange(membership.organization_id, membership.user_id, email, membership.role)


def _join(organization_id: str, user: User, role: Role, access: Access, projects: Chosen) -> None:
    """Add a membership. An existing one is not changed."""
    values = {"organization_id": organization_id, "user_id": user.id, "role": role, "access": access}
    unique = ("organization_id", "user_id")
    statement = insert_or_ignore(db.engine.dialect.name, Membership, values, unique=unique)
    if db.session.scalar(statement.returning(Membership.user_id)) is not None:
        choose(organization_id, user.id, projects)
        member_joined.publish(MemberChange(organization_id, user.id, user.email, role))


def choose(organization_id: str, user_id: str, projects: Chosen) -> None:
    """Replace the projects of a membership with the access `projects`."""
    own = MembershipProject.organization_id == organization_id, MembershipProject.user_id == user_id
    db.session.execute(sa.delete(MembershipProject).where(*own))
    db.session.add_all(
        MembershipProject(organization_id=organization_id, user_id=user_id, **project) for project in projects
    )
    db.session.flush()


def _invite_to(invitation: Invitation, access: Access, projects: Chosen) -> None:
    """Replace the projects of an invitation."""
    invitation.access = access
    db.session.execute(sa.delete(InvitationProject).where(InvitationProject.invitation_id == invitation.id))
    db.session.add_all(InvitationProject(invitation_id=invitation.id, **project) for project in projects)
    db.session.flush()


def _invited_to(invitation: Invitation) -> Chosen:
    """Return the projects of an invitation. They cannot be deleted before the transaction ends."""
    statement = (
        sa.select(InvitationProject.project_id, InvitationProject.role)
        .join(Project, Project.id == InvitationProject.project_id)
        .where(InvitationProject.invitation_id == invitation.id)
        .with_for_update(read=True, key_share=True, of=Project)
    )
    return [{"project_id": project_id, "role": role} for project_id, role in db.session.execute(statement)]


def _lock_projects(organization_id: str, access: Access, projects: Chosen) -> None:
    """Lock the projects of the organization if the access is limited: a write that a member has begun ends before.

    Raises:
        NotFound: a chosen project does not belong to the organization.
    """
    if access == Access.ALL:
        return
    ours = sa.select(Project.id).where(Project.organization_id == organization_id).order_by(Project.id)
    locked = set(db.session.scalars(ours.with_for_update(key_share=True)))
    if not locked.issuperset(project["project_id"] for project in projects):
        raise NotFound("Project not found")


def _create_invitation(
    organization: Organization, invitation: Invitation | None, email: str, key: str, role: Role, by: User
) -> Invitation:
    invitation = invitation or Invitation(organization_id=organization.id, email_key=key)
    invitation.email, invitation.role, invitation.invited_by = email, role, by.id
    invitation.expires_at = utcnow_ms() + INVITED_FOR
    db.session.add(invitation)
    db.session.flush()
    return invitation


def _mail_invitation(invitation: Invitation, organization: Organization, by: User, invitation_url: str) -> None:
    """Enqueue the invitation in the language of the inviter.

    The address is not verified, so the mail contains no text of a user except the two names.
    """
    jobs.enqueue(
        "mail.send",
        to=invitation.email,
        template="invitation",
        language=language_of(by),
        inviter=by.name,
        organization=organization.name,
        days=INVITED_FOR.days,
        link=f"{invitation_url}?invitation={invitation.id}",
    )


def _check_limit(organization: Organization) -> None:
    limit = limits_of(organization.owner_id).members
    members = sa.select(sa.func.count()).where(Membership.organization_id == organization.id).scalar_subquery()
    invited = (
        sa.select(sa.func.count())
        .where(Invitation.organization_id == organization.id, Invitation.expires_at > utcnow_ms())
        .scalar_subquery()
    )
    if db.session.execute(sa.select(members + invited)).scalar_one() >= limit:
        raise LimitReached(ErrorMessage("An organization has at most %(limit)s members", limit=limit))


def _target(organization: Organization, *, by: User, member_id: str | None, email: str | None) -> Membership:
    membership = db.session.execute(
        sa.select(Membership)
        .join(User, User.id == Membership.user_id)
        .where(
            Membership.organization_id == organization.id,
            User.id == member_id if member_id is not None else User.email_key == email_key(email or ""),
        )
        .execution_options(populate_existing=True)
    ).scalar_one_or_none()
    if membership is None:
        raise NotFound("This user is not a member")
    if membership.role == Role.OWNER or membership.user_id == by.id:
        raise PermissionDenied("You cannot change the owner or yourself")
    return membership


def _end(organization: Organization, membership: Membership) -> None:
    change = change_of(membership)
    db.session.delete(membership)
    db.session.flush()
    membership_ended.publish(organization, membership.user_id)
    member_removed.publish(change)


def _membership(organization: Organization, user_id: str) -> Membership | None:
    return db.session.get(Membership, (organization.id, user_id), populate_existing=True)


def _invitation(organization: Organization, key: str) -> Invitation | None:
    return db.session.scalar(
        sa.select(Invitation).where(Invitation.organization_id == organization.id, Invitation.email_key == key)
    )
