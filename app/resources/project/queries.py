"""Read-only statements that return projects as response dictionaries (contract 4.6)."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from app.core import clock
from app.extensions import db
from app.models.organization import ArchiveStatus, Organization
from app.models.project import Project
from app.models.project_content import OF_WORKING_BRANCH, ContentIndex, IndexStatus

Shown = dict[str, Any]

_LIST = sa.select(Project, ContentIndex).outerjoin(ContentIndex, OF_WORKING_BRANCH).order_by(Project.name, Project.id)
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


def other_names(project: Project, *, limit: int) -> Sequence[Any]:
    """Return the ids and names of the other active projects of the organization by name."""
    own = Project.organization_id == project.organization_id
    statement = sa.select(Project.id, Project.name).where(own, Project.id != project.id)
    return db.session.execute(statement.where(_OF_STATUS).order_by(Project.name).limit(limit), _ACTIVE).all()


def _listed(statement: sa.Select[Project, ContentIndex], target_id: str, status: ArchiveStatus | None) -> list[Shown]:
    parameters = {"target_id": target_id} | ({} if status is None else {"status": status})
    return [shown(project, index) for project, index in db.session.execute(statement, parameters)]


def _index(index: ContentIndex) -> Shown:
    return {
        "status": index.status,
        "commit_sha": index.commit_sha,
        "indexed_at": None if index.indexed_at is None else clock.iso(index.indexed_at),
        "files": index.files,
    }


def shown(project: Project, index: ContentIndex | None) -> Shown:
    """Return a project with the index of its working branch as a response dictionary."""
    return {
        "project_id": project.id,
        "org_id": project.organization_id,
        "user_id": project.creator_id,
        "project_name": project.name,
        "project_image": project.image,
        "site_url": project.site_url,
        "provider": project.provider,
        "repository": project.repository,
        "repository_id": project.repository_id,
        "branch": project.branch,
        "framework": project.framework,
        "generator": project.generator,
        "paths": _NO_PATHS | project.paths,
        "visibility": project.visibility,
        "preview_network": project.preview_network,
        "status": project.status,
        "connection": {
            "status": project.connection_status,
            "connected_by": project.connected_by,
            "account": project.connection_account,
        },
        "index": _NO_INDEX if index is None else _index(index),
        "createdAt": clock.iso(project.created_at),
        "updatedAt": clock.iso(project.updated_at),
    }
