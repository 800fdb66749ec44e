"""Read-only statements that return projects as response dictionaries (contract 4.6)."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from app.core import clock
from app.extensions import db
from app.models.organization import ArchiveStatus, Organization
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus
from app.models.user import User

Shown = dict[str, Any]

_OF_INDEX = (
    ContentIndex.status.label("index_status"),
    ContentIndex.commit_sha.label("index_commit_sha"),
    ContentIndex.indexed_at.label("index_indexed_at"),
    ContentIndex.files.label("index_files"),
)
_NO_INDEX: Shown = {"status": IndexStatus.QUEUED, "commit_sha": None, "indexed_at": None, "files": 0}


def shown(project: Project, index: ContentIndex | None) -> Shown:
    """Return a project with the index of its working branch."""
    if index is None:
        return _shown(project, _NO_INDEX)
    return _shown(project, _index(index.status, index.commit_sha, index.indexed_at, index.files))


def reload_project(project: Project) -> Shown:
    """Return a project whose working branch may have changed in this transaction."""
    db.session.flush()
    index = db.session.scalar(
        sa.select(ContentIndex).where(ContentIndex.project_id == project.id, ContentIndex.branch == project.branch)
    )
    return shown(project, index)


def of_organization(organization: Organization, *, status: ArchiveStatus | None) -> list[Shown]:
    """Return the projects of an organization by name. Runs one statement."""
    return _listed(Project.organization_id == organization.id, status)


def of_owner(user: User, *, status: ArchiveStatus | None) -> list[Shown]:
    """Return the projects of all organizations that the user owns, by name. Runs one statement."""
    owned = sa.select(Organization.id).where(Organization.owner_id == user.id)
    return _listed(Project.organization_id.in_(owned), status)


def _listed(where: sa.ColumnElement[bool], status: ArchiveStatus | None) -> list[Shown]:
    rows: Sequence[Any] = db.session.execute(
        sa.select(*Project.__table__.c, *_OF_INDEX)
        .outerjoin(ContentIndex, sa.and_(ContentIndex.project_id == Project.id, ContentIndex.branch == Project.branch))
        .where(where, *([Project.status == status] if status else []))
        .order_by(Project.name, Project.id)
    ).all()
    return [_shown(row, _index_of_row(row)) for row in rows]


def _index_of_row(row: Any) -> Shown:
    if row.index_status is None:
        return _NO_INDEX
    return _index(row.index_status, row.index_commit_sha, row.index_indexed_at, row.index_files)


def _index(status: IndexStatus, commit_sha: str | None, indexed_at: Any, files: int) -> Shown:
    return {
        "status": status,
        "commit_sha": commit_sha,
        "indexed_at": None if indexed_at is None else clock.iso(indexed_at),
        "files": files,
    }


def _shown(project: Any, index: Shown) -> Shown:
    """Return a project, or a row of its columns, as a response dictionary."""
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
        "paths": {"content": None, "media": None, "public": None} | project.paths,
        "visibility": project.visibility,
        "preview_network": project.preview_network,
        "status": project.status,
        "connection": {
            "status": project.connection_status,
            "connected_by": project.connected_by,
            "account": project.connection_account,
        },
        "index": index,
        "createdAt": clock.iso(project.created_at),
        "updatedAt": clock.iso(project.updated_at),
    }
