"""Updates of the preview record (contract 4.7) from its sandbox."""

from typing import Any
from urllib.parse import urlsplit

from app.extensions import db
from app.models.base import utcnow_ms
from app.models.project import Project
from app.models.project_preview import PreviewState, ProjectPreview
from app.models.sandbox import Sandbox
from app.resources.project_preview import service as previews
from app.runtimes.failure import log_tail


def begin(sandbox: Sandbox, url: str) -> None:
    """Record a new sandbox and its URL."""
    hosts = (urlsplit(url).hostname or "",)
    address = {"sandbox_id": sandbox.id, "sandbox_name": sandbox.label, "preview_url": url, "urls": {}}
    previews.upsert(db.session.get_one(Project, sandbox.project_id), address | _values(sandbox), hosts=hosts)


def follow(sandbox: Sandbox) -> None:
    """Record the state of the sandbox, unless the record was deleted or describes another sandbox."""
    record = db.session.get(ProjectPreview, sandbox.project_id, populate_existing=True)
    if record is not None and record.sandbox_id == sandbox.id:
        for name, value in _values(sandbox).items():
            setattr(record, name, value)


def failure_of(sandbox: Sandbox) -> dict[str, Any] | None:
    """Return the report of a failed start: code, message, step, hint and the end of its log."""
    if sandbox.state is not PreviewState.FAILED:
        return None
    return {
        "code": sandbox.code,
        "message": sandbox.problem,
        "step": sandbox.step,
        "hint": sandbox.hint,
        "log_tail": log_tail(sandbox.log or ""),
    }


def _values(sandbox: Sandbox) -> dict[str, Any]:
    return {
        "state": sandbox.state,
        "failure": failure_of(sandbox),
        "commit_sha": sandbox.commit_sha,
        "expires_at": sandbox.expires_at,
        "last_used_at": utcnow_ms(),
    }
