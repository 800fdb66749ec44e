"""Keeps the project's preview record (contract 4.7) at what its sandbox is."""

from typing import Any
from urllib.parse import urlsplit

from app.extensions import db
from app.models.base import moment
from app.models.project import Project
from app.models.project_preview import ProjectPreview
from app.models.sandbox import Sandbox
from app.resources.project_preview import service as previews


def begin(sandbox: Sandbox, url: str) -> None:
    """Record a new sandbox and where it will answer."""
    hosts = (urlsplit(url).hostname or "",)
    address = {"sandbox_id": sandbox.id, "sandbox_name": sandbox.label, "preview_url": url, "urls": {}}
    previews.upsert(db.session.get_one(Project, sandbox.project_id), address | _present(sandbox), hosts=hosts)


def follow(sandbox: Sandbox) -> None:
    """Record what became of it, where the record is still about it: not after it was deleted or begun anew."""
    found = db.session.get(ProjectPreview, sandbox.project_id, populate_existing=True)
    if found is not None and found.sandbox_id == sandbox.id:
        for name, value in _present(sandbox).items():
            setattr(found, name, value)


def _present(sandbox: Sandbox) -> dict[str, Any]:
    return {
        "state": sandbox.state,
        "commit_sha": sandbox.commit_sha,
        "expires_at": sandbox.expires_at,
        "last_used_at": moment(),
    }
