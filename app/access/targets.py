"""Resolvers from the ids of a request to objects, each with one statement.

The response to a malformed id equals the response to an unknown one.
"""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from app.access.caller import Caller
from app.core.errors import NotAuthenticated, NotFound
from app.core.ids import is_id
from app.core.permissions import Role
from app.extensions import db
from app.models.base import Base
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.project_rows import OF_WORKING_BRANCH
from app.models.user import User

Ids = Mapping[str, Any]
Targets = dict[str, Any]
TargetResolver = Callable[[Caller | None, Ids], Targets]
"""(caller, ids) → the objects, with `role` (and `second_role`) of the caller. Raises NotFound."""


# Built once: the construction of a statement costs more than its execution.
_TARGET_ID: sa.BindParameter[str] = sa.bindparam("target_id")
_MINE = sa.and_(Membership.organization_id == Organization.id, Membership.user_id == sa.bindparam("actor_id"))
_ORGANIZATION = (
    sa.select(Organization, Membership.role).outerjoin(Membership, _MINE).where(Organization.id == _TARGET_ID)
)
_PROJECT = (
    sa.select(Project, Organization, ContentIndex, Membership.role)
    .join(Organization, Organization.id == Project.organization_id)
    .outerjoin(ContentIndex, OF_WORKING_BRANCH)
    .outerjoin(Membership, _MINE)
    .where(Project.id == _TARGET_ID)
)

LOCKED_TARGETS: dict[str, type[Project | Organization | User]] = {
    "project": Project,
    "organization": Organization,
    "user": User,
}
"""Targets in order of preference: a route changes the first one that its guard resolved."""

_LOCKS = {
    name: sa.select(model.id).where(model.id == _TARGET_ID).with_for_update(key_share=True)
    for name, model in LOCKED_TARGETS.items()
}


def lock(targets: Mapping[str, Any], *, is_self: bool) -> None:
    """Lock the row of the changed target until the transaction ends, and expire all loaded objects.

    The lock excludes other writers and a deletion. It does not exclude rows that refer to the target. SQLite ignores
    it: a write transaction locks the whole database.

    Raises:
        NotAuthenticated: the target is the caller, and the account was deleted.
        NotFound: another request deleted the target.
    """
    name = next((name for name in LOCKED_TARGETS if targets.get(name) is not None), None)
    if name is None:
        return
    target = targets[name]
    # The attributes of an expired object cannot be read if its row was deleted.
    identity = sa.inspect(target).identity if isinstance(target, Base) else None
    target_id = identity[0] if identity else target.id
    if db.session.scalar(_LOCKS[name], {"target_id": target_id}) is None:
        raise NotAuthenticated if is_self else NotFound(f"{LOCKED_TARGETS[name].__name__} not found")
    db.session.expire_all()


def no_target(_actor: Caller | None, _ids: Ids) -> Targets:
    """Return no targets, for a route without a target."""
    return {}


def user(param: str) -> TargetResolver:
    """Return a resolver of a user by id."""

    def find(actor: Caller | None, ids: Ids) -> Targets:
        user_id = _checked(ids, param, "usr", "User")
        if actor is not None and actor.id == user_id:
            return {"user": actor.user, "is_self": True}
        target = db.session.get(User, user_id)
        if target is None:
            raise NotFound("User not found")
        return {"user": target, "is_self": False}

    return find


def organization(param: str) -> TargetResolver:
    """Return a resolver of an organization by id, with the role of the caller."""

    def find(actor: Caller | None, ids: Ids) -> Targets:
        target, role = _organization(actor, _checked(ids, param, "org", "Organization"))
        return {"organization": target, "role": role}

    return find


def project(param: str) -> TargetResolver:
    """Return a resolver of a project by id, with its organization, its index and the role of the caller."""

    def find(actor: Caller | None, ids: Ids) -> Targets:
        return project_of(actor.id if actor is not None else None, _checked(ids, param, "prj", "Project"))

    return find


def project_of(user_id: str | None, project_id: str) -> Targets:
    """Return a project by its valid id, with its organization, its index and the role of the user. Raises NotFound."""
    row = db.session.execute(_PROJECT, {"target_id": project_id, "actor_id": user_id}).first()
    if row is None:
        raise NotFound("Project not found")
    return {"project": row[0], "organization": row[1], "index": row[2], "role": row[3]}


def project_if_named(param: str) -> TargetResolver:
    """Return a resolver like `project` for a field of the body.

    Without a project the target is the caller (`is_self`).
    """
    find_project = project(param)

    def find(actor: Caller | None, ids: Ids) -> Targets:
        return {"is_self": True} if ids[param] is None else find_project(actor, ids)

    return find


def project_and_destination(project_param: str, organization_param: str) -> TargetResolver:
    """Return a resolver of a project and of the organization it moves to, with both roles of the caller."""
    find_project, find_organization = project(project_param), organization(organization_param)

    def find(actor: Caller | None, ids: Ids) -> Targets:
        source = find_project(actor, ids)
        other = find_organization(actor, ids)
        return source | {"destination": other["organization"], "second_role": other["role"]}

    return find


def _organization(actor: Caller | None, organization_id: str) -> tuple[Organization, Role | None]:
    parameters = {"target_id": organization_id, "actor_id": actor.id if actor is not None else None}
    row = db.session.execute(_ORGANIZATION, parameters).first()
    if row is None:
        raise NotFound("Organization not found")
    return row[0], row[1]


def _checked(ids: Ids, param: str, prefix: str, kind: str) -> str:
    value = ids.get(param)
    if not is_id(value, prefix):
        raise NotFound(f"{kind} not found")
    return str(value)
