"""The record of a project's preview: one a project, written by its members and by whoever runs sandboxes."""

from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa

from app.core.errors import Invalid, NotFound
from app.extensions import db
from app.models.project import Project
from app.models.project_preview import ProjectPreview
from app.resources.project_preview.events import preview_deleting


def find(project: Project) -> ProjectPreview:
    """The record. Raises NotFound when there is none."""
    found = _find(project.id)
    if found is None:
        raise NotFound("This project has no preview")
    return found


def upsert(project: Project, changes: dict[str, Any], *, hosts: tuple[str, ...]) -> ProjectPreview:
    """Write what is given and keep the rest; previews are served on `hosts` or below them and nowhere else.

    Raises:
        Invalid: the preview's address is elsewhere.
        NotFound: the project was deleted meanwhile.
    """
    url = changes.get("preview_url")
    if url is not None and not is_below(url, hosts):
        raise Invalid.field("preview_url", f"The address must be on {' or '.join(hosts)}, or below")
    record = _find(project.id) or _insert(project.id)
    for column, value in changes.items():
        setattr(record, column, value)
    db.session.flush()
    return record


def delete(project: Project) -> str:
    """Forget the record, if there is one, and have the sandbox it names stopped; returns the project's id."""
    record = _find(project.id)
    if record is not None:
        preview_deleting.announce(project.id, record.sandbox_id)
        db.session.execute(
            sa.delete(ProjectPreview).where(ProjectPreview.project_id == project.id),
            execution_options={"synchronize_session": False},
        )
    return project.id


def is_below(url: str, hosts: tuple[str, ...]) -> bool:
    """Whether a browser would go to one of these hosts, or below it, over http(s)."""
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
    """Of parallel writers one inserts; the others go on with its record."""
    record = ProjectPreview(project_id=project_id)
    try:
        with db.session.begin_nested():
            db.session.add(record)
    except sa.exc.IntegrityError:
        found = _find(project_id)
        if found is None:
            raise NotFound("Project not found") from None
        return found
    return record
