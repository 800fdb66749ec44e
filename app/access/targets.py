"""Resolvers from the ids of a request to the scope of its route, each with one statement.

The response to a malformed id equals the response to an unknown one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from app.access.caller import SELECT_VALID_SESSION, Caller, JoinedTarget
from app.access.scope import MoveScope, OrganizationScope, ProjectScope, Scope, UserScope
from app.core.errors import NotAuthenticated, NotFound
from app.core.ids import is_id
from app.extensions import db
from app.models.base import Base
from app.models.organization import Membership, Organization
from app.models.project import Project, role_in_project
from app.models.project_content import OF_WORKING_BRANCH, ContentIndex
from app.models.user import User

Ids = Mapping[str, Any]
S = TypeVar("S", bound=Scope)
_LOCKED = (Project, Organization, User)
_LOCKS = {
    model: sa.select(model.id).where(model.id == sa.bindparam("target_id")).with_for_update(key_share=True)
    for model in _LOCKED
}


@dataclass(frozen=True)
class IdKind:
    """The kind of an id: its prefix and the noun of its object."""

    prefix: str
    noun: str


_USER_ID, _ORGANIZATION_ID, _PROJECT_ID = (
    IdKind("usr", "a user"),
    IdKind("org", "an organization"),
    IdKind("prj", "a project"),
)


@dataclass(frozen=True)
class Resolver(Generic[S]):
    """A function from the caller and the ids of a request to a scope, and the type of this scope."""

    scope: type[S]
    find: Callable[[Caller | None, Ids], S]
    """Raises NotFound."""
    ids: Mapping[str, IdKind] = field(default_factory=dict, kw_only=True)
    """The kinds of the ids that the function resolves, for the OpenAPI document."""


class MemberTable:
    """Statements that read an object by its id, the objects that belong to it, and the roles of the caller.

    The first entity is the object. The names are fields of a scope. The statements are built once: the construction of
    a statement costs more than its execution.
    """

    def __init__(
        self, id_kind: IdKind, entities: Mapping[str, type[Base]], *conditions: sa.ColumnElement[bool]
    ) -> None:
        (first, *others), self.id_kind, self._names = entities.values(), id_kind, tuple(entities)
        self._not_found = f"{id_kind.noun.partition(' ')[2].capitalize()} not found"
        is_target = first.__table__.c.id == sa.bindparam("target_id")
        user_id: sa.BindParameter[str] = sa.bindparam("user_id")

        def columns(user_id: object) -> tuple[Any, ...]:
            role = role_in_project(user_id) if Project in entities.values() else Membership.role
            return (*entities.values(), role, Membership.role)

        self._alone = sa.select(*columns(user_id)).select_from(first).where(is_target)
        joined = SELECT_VALID_SESSION.add_columns(*columns(User.id)).outerjoin(first, is_target)
        for entity, condition in zip(others, conditions, strict=True):
            self._alone, joined = self._alone.outerjoin(entity, condition), joined.outerjoin(entity, condition)
        self._alone = self._alone.outerjoin(Membership, _is_member(user_id))
        self.with_session = joined.outerjoin(Membership, _is_member(User.id))

    def read(self, target_id: object, user_id: str | None) -> dict[str, Any]:
        """Return the fields of a scope. Raises NotFound."""
        row = None
        if is_id(target_id, self.id_kind.prefix):
            row = db.session.execute(self._alone, {"target_id": target_id, "user_id": user_id}).first()
        return self.fields(row)

    def fields(self, row: Sequence[object] | None) -> dict[str, Any]:
        """Return the fields of a scope from the objects and the roles. Raises NotFound."""
        if row is None or row[0] is None:
            raise NotFound(self._not_found)
        return dict(zip((*self._names, "role", "organization_role"), row, strict=True))


@dataclass(frozen=True)
class MemberResolver(Resolver[S]):
    """A resolver of an object of an organization, with the role of the caller.

    The statement that loads the session of the caller can read the object as well.
    """

    param: str
    table: MemberTable

    def with_session(self, ids: Ids) -> JoinedTarget | None:
        """Return the statement that loads a session and the object, with the id. None if the id is malformed."""
        target_id = ids.get(self.param)
        return (
            JoinedTarget(self.table.with_session, str(target_id))
            if is_id(target_id, self.table.id_kind.prefix)
            else None
        )

    def of_joined(self, caller: Caller | None, ids: Ids, values: Sequence[object]) -> S:
        """Return the scope from the values that were read with the session. Raises NotFound."""
        return self.scope(optional_caller=caller, path=ids, **self.table.fields(values))


def _is_member(user_id: object) -> sa.ColumnElement[bool]:
    return sa.and_(Membership.organization_id == Organization.id, Membership.user_id == user_id)


_ORGANIZATION = MemberTable(_ORGANIZATION_ID, {"organization": Organization})
_PROJECT = MemberTable(
    _PROJECT_ID,
    {"project": Project, "organization": Organization, "index": ContentIndex},
    Organization.id == Project.organization_id,
    OF_WORKING_BRANCH,
)


def lock(scope: Scope) -> None:
    """Lock the row of the changed target until the transaction ends, and expire all loaded objects.

    A route changes the project that it names, else the organization, else the user. The lock excludes other writers and
    a deletion. It does not exclude rows that refer to the target. SQLite ignores it: a write transaction locks the
    whole database.

    Raises:
        NotAuthenticated: the target is the caller, and the account was deleted.
        NotFound: another request deleted the target.
    """
    target = scope.project or scope.organization
    model, target_id = type(target) if target is not None else User, scope.target_id
    if target is not None:
        # The attributes of an expired object cannot be read if its row was deleted.
        state: Any = sa.inspect(target)
        [target_id] = state.identity
    if target_id is None:
        return
    if db.session.scalar(_LOCKS[model], {"target_id": target_id}) is None:
        raise NotAuthenticated if scope.is_self else NotFound(f"{model.__name__} not found")
    db.session.expire_all()


no_target: Resolver[Scope] = Resolver(Scope, lambda caller, ids: Scope(optional_caller=caller, path=ids))
"""The resolver of routes that name no object."""


def user(param: str) -> Resolver[UserScope]:
    """Return a resolver of a user by id."""

    def find(caller: Caller | None, ids: Ids) -> UserScope:
        user_id = str(ids.get(param))
        if not is_id(user_id, _USER_ID.prefix):
            raise NotFound("User not found")
        is_self = caller is not None and caller.id == user_id
        if not is_self and db.session.scalar(sa.select(User.id).where(User.id == user_id)) is None:
            raise NotFound("User not found")
        return UserScope(target_id=user_id, is_self=is_self, optional_caller=caller, path=ids)

    return Resolver(UserScope, find, ids={param: _USER_ID})


def organization(param: str) -> MemberResolver[OrganizationScope]:
    """Return a resolver of an organization by id, with the role of the caller."""
    return of_member(OrganizationScope, param, _ORGANIZATION)


def project(param: str) -> MemberResolver[ProjectScope]:
    """Return a resolver of a project by id, with its organization, its index and the role of the caller."""
    return of_member(ProjectScope, param, _PROJECT)


def of_member(scope: type[S], param: str, table: MemberTable) -> MemberResolver[S]:
    """Return a resolver of an object of an organization by the id in a parameter."""

    def find(caller: Caller | None, ids: Ids) -> S:
        fields = table.read(ids.get(param), caller.id if caller is not None else None)
        return scope(optional_caller=caller, path=ids, **fields)

    return MemberResolver(scope, find, param, table, ids={param: table.id_kind})


def project_of_member(user_id: str, project_id: str) -> tuple[Project, ContentIndex | None] | None:
    """Return a project and its index if the user has a role in it, else None."""
    try:
        scope = ProjectScope(**_PROJECT.read(project_id, user_id))
    except NotFound:
        return None
    return (scope.project, scope.index) if scope.role is not None else None


def project_if_named(param: str) -> Resolver[Scope]:
    """Return a resolver like `project` for a field of the body.

    Without a project the target is the caller (`is_self`).
    """
    find_project = project(param).find

    def find(caller: Caller | None, ids: Ids) -> Scope:
        if ids[param] is None:
            return Scope(optional_caller=caller, path=ids, is_self=True)
        return find_project(caller, ids)

    return Resolver(Scope, find)


def project_and_destination(project_param: str, organization_param: str) -> Resolver[MoveScope]:
    """Return a resolver of a project and of the organization it moves to, with both roles of the caller."""
    source_project, other_organization = project(project_param), organization(organization_param)

    def find(caller: Caller | None, ids: Ids) -> MoveScope:
        source, other = source_project.find(caller, ids), other_organization.find(caller, ids)
        return MoveScope(**vars(source) | {"destination": other.organization, "second_role": other.role})

    return Resolver(MoveScope, find, ids={**source_project.ids, **other_organization.ids})
