"""How the ids of a request become the objects they name, each kind in one statement.

A malformed id is answered exactly as a missing one.
"""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from app.core.errors import Invalid, NotFound
from app.core.ids import is_id
from app.core.permissions import Role
from app.extensions import db
from app.http.caller import Caller
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.user import User

Ids = Mapping[str, Any]
Found = dict[str, Any]
Find = Callable[[Caller | None, Ids], Found]
"""(caller, ids) → the objects found, with `role` (and `second_role`) of the caller. Raises NotFound."""


# Built once: putting a statement together costs more than running it.
_WANTED: sa.BindParameter[str] = sa.bindparam("wanted")
_MINE = sa.and_(Membership.organization_id == Organization.id, Membership.user_id == sa.bindparam("actor_id"))
_ORGANIZATION = sa.select(Organization, Membership.role).outerjoin(Membership, _MINE).where(Organization.id == _WANTED)
_PROJECT = (
    sa.select(Project, Organization, ContentIndex, Membership.role)
    .join(Organization, Organization.id == Project.organization_id)
    .outerjoin(ContentIndex, sa.and_(ContentIndex.project_id == Project.id, ContentIndex.branch == Project.branch))
    .outerjoin(Membership, _MINE)
    .where(Project.id == _WANTED)
)


def nothing(_actor: Caller | None, _ids: Ids) -> Found:
    """The route names no target."""
    return {}


def user(param: str) -> Find:
    """A user by id."""

    def find(actor: Caller | None, ids: Ids) -> Found:
        wanted = _checked(ids, param, "usr", "User")
        if actor is not None and actor.id == wanted:
            return {"user": actor.user, "is_self": True}
        found = db.session.get(User, wanted)
        if found is None:
            raise NotFound("User not found")
        return {"user": found, "is_self": False}

    return find


def organization(param: str) -> Find:
    """An organization by id, with the caller's membership."""

    def find(actor: Caller | None, ids: Ids) -> Found:
        found, role = _organization(actor, _checked(ids, param, "org", "Organization"))
        return {"organization": found, "role": role}

    return find


def project(param: str) -> Find:
    """A project by id, with its organization, its index and the caller's membership."""

    def find(actor: Caller | None, ids: Ids) -> Found:
        return project_of(actor.id if actor is not None else None, _checked(ids, param, "prj", "Project"))

    return find


def project_of(user_id: str | None, wanted: str) -> Found:
    """A project by its well-formed id, with its organization, its index and the user's role. Raises NotFound."""
    row = db.session.execute(_PROJECT, {"wanted": wanted, "actor_id": user_id}).first()
    if row is None:
        raise NotFound("Project not found")
    return {"project": row[0], "organization": row[1], "index": row[2], "role": row[3]}


def project_if_named(param: str) -> Find:
    """A project as `project` finds it; a request that names none is its caller's own affair (`is_self`)."""
    find_project = project(param)

    def find(actor: Caller | None, ids: Ids) -> Found:
        return {"is_self": True} if ids.get(param) is None else find_project(actor, ids)

    return find


def project_and_destination(project_param: str, organization_param: str) -> Find:
    """A project and the organization it is to move to, with the caller's membership in both."""
    find_project, find_organization = project(project_param), organization(organization_param)

    def find(actor: Caller | None, ids: Ids) -> Found:
        found = find_project(actor, ids)
        other = find_organization(actor, ids)
        return found | {"destination": other["organization"], "second_role": other["role"]}

    return find


def _organization(actor: Caller | None, wanted: str) -> tuple[Organization, Role | None]:
    given = {"wanted": wanted, "actor_id": actor.id if actor is not None else None}
    row = db.session.execute(_ORGANIZATION, given).first()
    if row is None:
        raise NotFound("Organization not found")
    return row[0], row[1]


def _checked(ids: Ids, param: str, prefix: str, kind: str) -> str:
    value = ids.get(param)
    if not is_id(value, prefix):
        raise NotFound(f"{kind} not found")
    return str(value)


def check_id(value: object, prefix: str, path: str) -> str:
    """An id given in a body: malformed is 400 there (contract, section 0)."""
    if not is_id(value, prefix):
        raise Invalid.field(path, "This is not a valid id")
    return str(value)
