"""Read-only statements that return projects as response dictionaries (contract 4.6)."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute

from app.core import clock
from app.extensions import db
from app.models.organization import ArchiveStatus, Organization
from app.models.project import Project
from app.models.project_content import OF_WORKING_BRANCH, ContentIndex, IndexStatus

Shown = dict[str, object]

_PROJECT: Mapping[str, InstrumentedAttribute[object]] = {
    "project_id": Project.id,
    "org_id": Project.organization_id,
    "user_id": Project.creator_id,
    "project_name": Project.name,
    "project_image": Project.image,
    "site_url": Project.site_url,
    "provider": Project.provider,
    "repository": Project.repository,
    "repository_id": Project.repository_id,
    "branch": Project.branch,
    "framework": Project.framework,
    "generator": Project.generator,
    "paths": Project.paths,
    "visibility": Project.visibility,
    "preview_network": Project.preview_network,
    "publishers": Project.publishers,
    "required_approvals": Project.required_approvals,
    "change_set_prefix": Project.change_set_prefix,
    "require_change_sets": Project.require_change_sets,
    "status": Project.status,
    "createdAt": Project.created_at,
    "updatedAt": Project.updated_at,
}
_CONNECTION: Mapping[str, InstrumentedAttribute[Any]] = {
    "status": Project.connection_status,
    "connected_by": Project.connected_by,
    "account": Project.connection_account,
}
_INDEX: Mapping[str, InstrumentedAttribute[object]] = {
    "status": ContentIndex.status,
    "commit_sha": ContentIndex.commit_sha,
    "indexed_at": ContentIndex.indexed_at,
    "files": ContentIndex.files,
}
_OF_PROJECT, _OF_INDEX = (*_PROJECT.values(), *_CONNECTION.values()), tuple(_INDEX.values())
# Columns: objects of the database session cost three times as much.
_LIST = (
    sa.select(*_OF_PROJECT, *_OF_INDEX)
    .select_from(Project)
    .outerjoin(ContentIndex, OF_WORKING_BRANCH)
    .order_by(Project.name, Project.id)
)
# Built once: the construction of a statement costs more than its execution.
_OWNED = sa.select(Organization.id).where(Organization.owner_id == sa.bindparam("target_id"))
_OF_STATUS, _ACTIVE = Project.status == sa.bindparam("status"), {"status": ArchiveStatus.ACTIVE}
_OF_ORGANIZATION = _LIST.where(Project.organization_id == sa.bindparam("target_id"))
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


def of_organization(organization_id: str, *, status: ArchiveStatus | None) -> list[Shown]:
    """Return the projects of an organization by name. Runs one statement."""
    statement = _OF_ORGANIZATION if status is None else _OF_ORGANIZATION_AND_STATUS
    return _listed(statement, organization_id, status)


def of_owner(user_id: str, *, status: ArchiveStatus | None) -> list[Shown]:
    """Return the projects of all organizations that the user owns, by name. Runs one statement."""
    return _listed(_OF_OWNER if status is None else _OF_OWNER_AND_STATUS, user_id, status)


def other_names(project: Project, *, limit: int) -> Sequence[object]:
    """Return the ids and names of the other active projects of the organization by name."""
    own = Project.organization_id == project.organization_id
    statement = sa.select(Project.id, Project.name).where(own, Project.id != project.id)
    return db.session.execute(statement.where(_OF_STATUS).order_by(Project.name).limit(limit), _ACTIVE).all()


def _listed(statement: sa.Select[object], target_id: str, status: ArchiveStatus | None) -> list[Shown]:
    parameters = {"target_id": target_id} | ({} if status is None else {"status": status})
    return [_response(row) for row in db.session.execute(statement, parameters)]


def shown(project: Project, index: ContentIndex | None) -> Shown:
    """Return a project with the index of its working branch as a response dictionary."""
    of_index = [None if index is None else getattr(index, column.key) for column in _OF_INDEX]
    return _response([*(getattr(project, column.key) for column in _OF_PROJECT), *of_index])


def _response(values: Sequence[Any]) -> Shown:
    """Return the response dictionary of the values of `_OF_PROJECT` and `_OF_INDEX`."""
    project, connection = dict(zip(_PROJECT, values, strict=False)), values[len(_PROJECT) : len(_OF_PROJECT)]
    index = dict(zip(_INDEX, values[len(_OF_PROJECT) :], strict=True))
    if index["indexed_at"] is not None:
        index["indexed_at"] = clock.iso(index["indexed_at"])
    return project | {
        "paths": _NO_PATHS | project["paths"],
        "connection": dict(zip(_CONNECTION, connection, strict=True)),
        "index": _NO_INDEX if index["status"] is None else index,
        "createdAt": clock.iso(project["createdAt"]),
        "updatedAt": clock.iso(project["updatedAt"]),
    }
