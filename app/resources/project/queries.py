"""Read-only statements that return projects as response dictionaries (contract 4.6)."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from app.core.ids import HasId
from app.extensions import db
from app.models.organization import ArchiveStatus, Organization
from app.models.project import Project, role_in_project
from app.models.project_content import OF_WORKING_BRANCH, ContentIndex, IndexStatus
from app.resources.project.schemas import ConnectionSchema, IndexSchema, ProjectSchema

Shown = dict[str, object]

_PROJECT, _CONNECTION = ProjectSchema.reader(Project), ConnectionSchema.reader(Project)
_INDEX = IndexSchema.reader(ContentIndex)
# Columns: objects of the database session cost three times as much.
_LIST = (
    sa.select(*_CONNECTION.columns, *_INDEX.columns, *_PROJECT.columns)
    .select_from(Project)
    .outerjoin(ContentIndex, OF_WORKING_BRANCH)
    .order_by(Project.name, Project.id)
)
# Built once: the construction of a statement costs more than its execution.
_OWNED = sa.select(Organization.id).where(Organization.owner_id == sa.bindparam("target_id"))
_OF_STATUS, _ACTIVE = Project.status == sa.bindparam("status"), {"status": ArchiveStatus.ACTIVE}
_IS_VISIBLE = role_in_project(sa.bindparam("user_id")).is_not(None)
_OF_ORGANIZATION = _LIST.where(Project.organization_id == sa.bindparam("target_id"), _IS_VISIBLE)
_OF_OWNER = _LIST.where(Project.organization_id.in_(_OWNED))
_OF_ORGANIZATION_AND_STATUS, _OF_OWNER_AND_STATUS = _OF_ORGANIZATION.where(_OF_STATUS), _OF_OWNER.where(_OF_STATUS)
_NO_PATHS: Shown = {"content": None, "media": None, "public": None}
_NO_INDEX: Shown = {"status": IndexStatus.QUEUED, "commit_sha": None, "indexed_at": None, "files": 0}


def reload_project(project: Project) -> Shown:
    """Return a project whose working branch may have changed in this transaction."""
    db.session.flush()
    index = db.session.scalar(
        sa.select(ContentIndex).where(ContentIndex.project_id == project.id, ContentIndex.branch == project.branch)
    )
    return shown(project, index)


def of_organization(organization_id: str, *, user: HasId, status: ArchiveStatus | None) -> list[Shown]:
    """Return the projects of an organization that a user sees, by name. Runs one statement."""
    statement = _OF_ORGANIZATION if status is None else _OF_ORGANIZATION_AND_STATUS
    return _listed(statement, status, target_id=organization_id, user_id=user.id)


def of_owner(user_id: str, *, status: ArchiveStatus | None) -> list[Shown]:
    """Return the projects of all organizations that the user owns, by name. Runs one statement."""
    return _listed(_OF_OWNER if status is None else _OF_OWNER_AND_STATUS, status, target_id=user_id)


def other_names(project: Project, *, user: HasId, limit: int) -> Sequence[object]:
    """Return the ids and names of the other active projects of the organization that a user sees, by name."""
    own = Project.organization_id == project.organization_id
    statement = sa.select(Project.id, Project.name).where(own, _IS_VISIBLE, Project.id != project.id)
    parameters = _ACTIVE | {"user_id": user.id}
    return db.session.execute(statement.where(_OF_STATUS).order_by(Project.name).limit(limit), parameters).all()


def site_urls_of(project_ids: Collection[str]) -> dict[str, str | None]:
    """Return the addresses of the published sites of projects by id, None for an unknown one."""
    statement = sa.select(Project.id, Project.site_url).where(Project.id.in_(project_ids))
    return dict(iter(db.session.execute(statement)))


def _listed(statement: sa.Select[object], status: ArchiveStatus | None, **parameters: object) -> list[Shown]:
    parameters |= {} if status is None else {"status": status}
    return [_listed_project(iter(row)) for row in db.session.execute(statement, parameters)]


def _listed_project(values: Iterator[object]) -> Shown:
    connection, index, project = _CONNECTION.take(values), _INDEX.take(values), _PROJECT.take(values)
    return _complete(project, connection, None if index["status"] is None else index)


def shown(project: Project, index: ContentIndex | None) -> Shown:
    """Return a project with the index of its working branch as a response dictionary."""
    return _complete(_PROJECT(project), _CONNECTION(project), None if index is None else _INDEX(index))


def _complete(project: dict[str, Any], connection: Shown, index: Shown | None) -> Shown:
    paths = _NO_PATHS | project["paths"]
    return project | {"paths": paths, "connection": connection, "index": _NO_INDEX if index is None else index}
