"""Subscribers that end sandboxes with their projects, repositories and preview records."""

import sqlalchemy as sa

from app.extensions import db, jobs
from app.models.project import Project
from app.models.sandbox import ACTIVE_STATES, Sandbox
from app.resources.project.events import project_connected, project_deleting
from app.resources.project_preview.events import preview_deleting
from app.resources.sandbox import service


@preview_deleting.subscribe
def end_recorded(project_id: str, _sandbox_id: str | None) -> None:
    """End the sandbox of a deleted preview record."""
    _end_of(project_id)


@project_deleting.subscribe
def end_with_project(project: Project) -> None:
    """End the sandbox of a deleted project. The job carries the reference of the host."""
    _end_of(project.id)


@project_connected.subscribe
def end_of_other_repository(project: Project) -> None:
    """End a sandbox that shows the previous repository or branch."""
    _end_of(project.id)


def _end_of(project_id: str) -> None:
    live = sa.select(Sandbox).where(Sandbox.project_id == project_id, Sandbox.state.in_(ACTIVE_STATES))
    for sandbox in db.session.scalars(live).all():
        service.end(sandbox)
        if sandbox.host_id is not None:
            jobs.enqueue("sandbox.end", reference=sandbox.host_id, unique=f"sandbox.end:{sandbox.host_id}")
