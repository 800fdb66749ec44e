"""What other resources' doings mean for sandboxes: what they belong to goes, and they with it."""

import sqlalchemy as sa

from app.extensions import db, jobs
from app.models.project import Project
from app.models.sandbox import LIVE, Sandbox
from app.resources.project.events import project_connected, project_deleting
from app.resources.project_preview.events import preview_deleting
from app.resources.sandbox import service


@preview_deleting.subscribe
def end_recorded(project_id: str, _sandbox_id: str | None) -> None:
    """The record of the project's preview is deleted."""
    _end_of(project_id)


@project_deleting.subscribe
def end_with_project(project: Project) -> None:
    """The project goes, and the row with it; the job carries the host's own name for the sandbox."""
    _end_of(project.id)


@project_connected.subscribe
def end_of_other_repository(project: Project) -> None:
    """What runs shows a repository or branch that is no longer the project's."""
    _end_of(project.id)


def _end_of(project_id: str) -> None:
    live = sa.select(Sandbox).where(Sandbox.project_id == project_id, Sandbox.state.in_(LIVE))
    for sandbox in db.session.scalars(live).all():
        service.end(sandbox)
        if sandbox.reference is not None:
            jobs.enqueue("sandbox.end", reference=sandbox.reference, unique=f"sandbox.end:{sandbox.reference}")
