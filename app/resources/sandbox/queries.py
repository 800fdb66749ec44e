"""Statements that read sandboxes for the preview proxy."""

import sqlalchemy as sa

from app.extensions import db
from app.models.organization import Membership
from app.models.project import Project
from app.models.sandbox import Sandbox


def find_of_member(label: str, user_id: str) -> Sandbox | None:
    """Return the sandbox of a preview host if the user is a member of its organization, else None."""
    return db.session.scalar(
        sa.select(Sandbox)
        .join(Project, Project.id == Sandbox.project_id)
        .join(Membership, Membership.organization_id == Project.organization_id)
        .where(Sandbox.label == label, Membership.user_id == user_id)
    )
