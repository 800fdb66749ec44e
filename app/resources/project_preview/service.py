"""Rules of preview records. Each project has at most one."""

from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa

from app.core.errors import InvalidRequest, NotFound
from app.extensions import db
from app.models.project import Project
from app.models.sandbox import ProjectPreview
from app.resources.project_preview.events import preview_deleting


def find(project: Project) -> ProjectPreview:
    """Return the record. Raises NotFound if there is none."""
    record = _find(project.id)
    if record is None:
        raise NotFound("This project has no preview")
    return record


def upsert(project: Project, changes: dict[str, Any], *, hosts: tuple[str, ...]) -> ProjectPreview:
    """Change the given fields. The URL must be on one of `hosts` or below it.

    Raises:
        Invalid: the preview's address is elsewhere.
        NotFound: the project was deleted during the call.
    """
    url = changes.get("preview_url")
    if url is not None and not is_below(url, hosts):
        raise InvalidRequest.field("preview_url", f"The address must be on {' or '.join(hosts)}, or below")
    record = _find(project.id) or _insert(project.id)
    for column, value in changes.items():
        setattr(record, column, value)
    db.session.flush()
    return record


def delete(project: Project) -> str:
    """Delete the record, publish `preview_deleting`, and return the id of the project."""
    record = _find(project.id)
    if record is not None:
        preview_deleting.publish(project.id, record.sandbox_id)
        db.session.execute(
            sa.delete(ProjectPreview).where(ProjectPreview.project_id == project.id),
            execution_options={"synchronize_session": False},
        )
    return project.id


def is_below(url: str, hosts: tuple[str, ...]) -> bool:
    """Return whether a browser would open one of these hosts, or a host below it, with http or https."""
    if "\\" in url or not url.isprintable() or " " in url:  # browsers read these their own way
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018 (raises for what is no port)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or "@" in parts.netloc:
        return False
    return any(host == allowed or host.endswith(f".{allowed}") for allowed in hosts)


def _find(project_id: str) -> ProjectPreview | None:
    return db.session.get(ProjectPreview, project_id, populate_existing=True)


def _insert(project_id: str) -> ProjectPreview:
    """Insert the record. A parallel writer continues with the record of the other."""
    record = ProjectPreview(project_id=project_id)
    try:
        with db.session.begin_nested():
            db.session.add(record)
    except sa.exc.IntegrityError:
        existing = _find(project_id)
        if existing is None:
            raise NotFound("Project not found") from None
        return existing
    return record
