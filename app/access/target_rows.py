"""Targets as rows of plain values, for routes that only read and for the check before a lock.

The statement that loads the session of the caller also reads such a target, so that both need one statement.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from app.access.caller import SESSION_COLUMNS, VALID_SESSION, Caller, JoinedTarget
from app.core.errors import NotFound
from app.core.ids import is_id
from app.core.permissions import Role
from app.database import plain_rows
from app.database.plain_rows import plain
from app.models.login import Session
from app.models.organization import Membership, Organization
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.project_rows import INDEX_COLUMNS, OF_WORKING_BRANCH, PROJECT_COLUMNS, OrganizationRow, index_of_row
from app.models.user import User

Targets = dict[str, Any]

_TARGET_ID: sa.BindParameter[str] = sa.bindparam("target_id")
_MINE = sa.and_(Membership.organization_id == Organization.id, Membership.user_id == User.id)


class RowTarget:
    """A resolver of a target by id to a row, with the role of the caller.

    `joins` are the tables of the target with the conditions that join them to the user.
    """

    def __init__(
        self,
        param: str,
        *,
        prefix: str,
        kind: str,
        columns: Sequence[sa.ColumnElement[Any]],
        joins: Sequence[tuple[Any, sa.ColumnElement[bool]]],
        build: Callable[[Any], Targets],
    ) -> None:
        self._param, self._prefix, self._kind, self._build = param, prefix, kind, build
        columns = [*columns, plain(Membership.role, "role")]
        self._row = _row_type(columns)
        # Built once: the construction of a statement costs more than its execution.
        self._alone = _joined(sa.select(*columns).select_from(User), joins).where(User.id == sa.bindparam("actor_id"))
        session = sa.select(*SESSION_COLUMNS, *columns).select_from(User).join(Session, Session.user_id == User.id)
        self._with_session = _joined(session, joins).where(*VALID_SESSION)

    def with_session(self, ids: Mapping[str, Any]) -> JoinedTarget | None:
        """Return the statement that loads a session and the target, with the id. None if the id is malformed."""
        target_id = ids.get(self._param)
        return JoinedTarget(self._with_session, str(target_id)) if is_id(target_id, self._prefix) else None

    def __call__(self, actor: Caller | None, ids: Mapping[str, Any]) -> Targets:
        """Return the row that was read with the session, or read it. Raises NotFound."""
        target = self.with_session(ids)
        if target is None or actor is None:
            raise NotFound(f"{self._kind} not found")
        values = actor.take_joined(target)
        if values is None:
            rows = plain_rows.read(self._alone, {"target_id": target.target_id, "actor_id": actor.id})
            values = rows[0] if rows else (None,) * len(self._row._fields)
        row: Any = self._row._make(values)
        if row.id is None:
            raise NotFound(f"{self._kind} not found")
        return self._build(row) | {"role": None if row.role is None else Role(row.role)}


def _row_type(columns: Sequence[sa.ColumnElement[Any]]) -> Any:
    return namedtuple("TargetRow", [column.name for column in columns])


def _joined(statement: sa.Select[Any], joins: Sequence[tuple[Any, sa.ColumnElement[bool]]]) -> sa.Select[Any]:
    for table, condition in joins:
        statement = statement.outerjoin(table, condition)
    return statement


def project_row(param: str) -> RowTarget:
    """Return a resolver of a project with its organization and its index."""

    def build(row: Any) -> Targets:
        owner = OrganizationRow(row.organization_id, row.organization_status)
        return {"project": row, "organization": owner, "index": index_of_row(row)}

    joins = [
        (Project, Project.id == _TARGET_ID),
        (Organization, Organization.id == Project.organization_id),
        (ContentIndex, OF_WORKING_BRANCH),
        (Membership, _MINE),
    ]
    columns = [*PROJECT_COLUMNS, *INDEX_COLUMNS, plain(Organization.status, "organization_status")]
    return RowTarget(param, prefix="prj", kind="Project", columns=columns, joins=joins, build=build)


def organization_row(param: str) -> RowTarget:
    """Return a resolver of an organization."""

    def build(row: Any) -> Targets:
        return {"organization": OrganizationRow(row.id, row.status)}

    joins = [(Organization, Organization.id == _TARGET_ID), (Membership, _MINE)]
    columns = [plain(Organization.id), plain(Organization.status)]
    return RowTarget(param, prefix="org", kind="Organization", columns=columns, joins=joins, build=build)
