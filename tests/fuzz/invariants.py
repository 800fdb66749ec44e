"""State that refused requests must not change, and invariants after any request."""

from typing import Any

import sqlalchemy as sa
from flask import Flask

from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.models.user import User
from tests.contract.scene import Scene
from tests.support.samples.gitrepo import GitRepo


def rows(scene: Scene) -> list[Any]:
    """Return the organizations, members, projects and users of the scene, and the head of its repository."""
    orgs = (scene.org, scene.org2, scene.org_other)
    people = [person.id for person in scene.people.values()]
    questions = (
        sa.select(Organization.__table__).where(Organization.id.in_(orgs)).order_by(Organization.id),
        sa.select(Membership.__table__)
        .where(Membership.organization_id.in_(orgs))
        .order_by(Membership.organization_id, Membership.user_id),
        sa.select(Project.__table__).where(Project.organization_id.in_(orgs)).order_by(Project.id),
        sa.select(User.__table__).where(User.id.in_(people)).order_by(User.id),
    )
    with scene.app.app_context():
        matches = [[tuple(row) for row in db.session.execute(question)] for question in questions]
        db.session.rollback()
    return [*matches, repository(scene).head("main")]


def others(scene: Scene) -> list[Any]:
    """Return the organization and the project that no caller may change."""
    with scene.app.app_context():
        matches = [
            [tuple(row) for row in db.session.execute(question)]
            for question in (
                sa.select(Organization.__table__).where(Organization.id == scene.org_other),
                sa.select(Membership.__table__).where(Membership.organization_id == scene.org_other),
                sa.select(Project.__table__).where(Project.id == scene.project_other),
            )
        ]
        db.session.rollback()
    return matches


def organizations_without_one_owner(app: Flask) -> list[str]:
    """Return the organizations without exactly one owner, or with another owner than they name."""
    owner = sa.case((Membership.role == Role.OWNER, 1), else_=0)
    named = sa.case(((Membership.role == Role.OWNER) & (Membership.user_id == Organization.owner_id), 1), else_=0)
    question = (
        sa.select(Organization.id)
        .outerjoin(Membership, Membership.organization_id == Organization.id)
        .group_by(Organization.id)
        .having((sa.func.coalesce(sa.func.sum(owner), 0) != 1) | (sa.func.coalesce(sa.func.sum(named), 0) != 1))
    )
    with app.app_context():
        results = list(db.session.scalars(question))
        db.session.rollback()
    return results


def repository(scene: Scene) -> GitRepo:
    """Return the bare repository of the scene's project."""
    root = scene.app.config["SETTINGS"].git.local_root
    return GitRepo.existing(root / f"{scene.repository}.git")
