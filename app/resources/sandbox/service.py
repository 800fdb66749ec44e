"""The state of sandboxes: limits, leases, state changes and the preview record. Calls no host.

Leases are calculated with the clock of the database: the clocks of several nodes differ.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import sqlalchemy as sa

from app.core import clock
from app.core.errors import LimitReached
from app.core.limits import MIB, SandboxLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.organization import Organization
from app.models.project import Project, role_in_project
from app.models.sandbox import ACTIVE_STATES, PreviewState, ProjectPreview, Sandbox
from app.models.user import User
from app.resources.project_preview import service as previews
from app.resources.sandbox import marking
from app.resources.sandbox.events import sandbox_failed, sandbox_running
from app.runtimes.failure import log_tail, plain

_CLOCKS = {
    "sqlite": sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Float),
    "postgresql": sa.literal_column("extract(epoch FROM clock_timestamp())::float", sa.Float),
}
MAX_LOG_CHARACTERS = MIB
_ANY = "any start"


def database_now() -> datetime:
    """Return the time of the database in whole milliseconds."""
    seconds = db.session.execute(sa.select(_CLOCKS[db.engine.dialect.name])).scalar_one()
    return datetime.fromtimestamp(round(seconds, 3), UTC) + clock.offset()


def at_create(now: datetime, limits: SandboxLimits) -> datetime:
    """Return the expiry of a new sandbox (spec 8)."""
    return now + timedelta(seconds=limits.lifetime_s)


def extend_on_connect(expires_at: datetime, created_at: datetime, now: datetime, limits: SandboxLimits) -> datetime:
    """Return the expiry after a connection: that of a new sandbox, within the total lifetime."""
    return max(expires_at, min(at_create(now, limits), _last(created_at, limits)))


def extend_on_heartbeat(expires_at: datetime, created_at: datetime, now: datetime, limits: SandboxLimits) -> datetime:
    """Return the expiry after a heartbeat: 300 s later, at most 600 s from now, within the total lifetime (spec 8)."""
    expiry = expires_at + timedelta(seconds=limits.heartbeat_s)
    return max(expires_at, min(expiry, at_create(now, limits), _last(created_at, limits)))


def is_overlong(expires_at: datetime, now: datetime, limits: SandboxLimits) -> bool:
    """Return whether the expiry is later than any lease permits, so that the clock was set back."""
    return expires_at > at_create(now, limits)


def _last(created_at: datetime, limits: SandboxLimits) -> datetime:
    return created_at + timedelta(seconds=limits.total_s)


def begin(sandbox: Sandbox, url: str) -> None:
    """Record a new sandbox and its URL. The record of a project describes its plain sandbox."""
    if sandbox.editable:
        return
    hosts = (urlsplit(url).hostname or "",)
    address = {"sandbox_id": sandbox.id, "sandbox_name": sandbox.label, "preview_url": url, "urls": {}}
    previews.upsert(db.session.get_one(Project, sandbox.project_id), address | _values(sandbox), hosts=hosts)


def follow(sandbox: Sandbox) -> None:
    """Record the state of the sandbox, unless the record was deleted or describes another sandbox."""
    record = db.session.get(ProjectPreview, sandbox.project_id, populate_existing=True)
    if record is not None and record.sandbox_id == sandbox.id:
        for name, value in _values(sandbox).items():
            setattr(record, name, value)


def failure_of(sandbox: Sandbox) -> dict[str, object] | None:
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


def _values(sandbox: Sandbox) -> dict[str, object]:
    return {
        "state": sandbox.state,
        "failure": failure_of(sandbox),
        "commit_sha": sandbox.commit_sha,
        "expires_at": sandbox.expires_at,
        "last_used_at": utcnow_ms(),
    }


@dataclass(frozen=True)
class StartFailure:
    """Reason of a failed start. `log` is the complete stored output."""

    problem: str
    code: str = "SANDBOX_FAILED"
    step: str | None = None
    hint: str | None = None
    log: str | None = None


def find_of_member(label: str, user_id: str) -> Sandbox | None:
    """Return the sandbox of a preview host if the user has a role in its project, else None."""
    return db.session.scalar(
        sa.select(Sandbox)
        .join(Project, Project.id == Sandbox.project_id)
        .where(Sandbox.label == label, role_in_project(user_id).is_not(None))
    )


def find_active(project_id: str, *, editable: bool = False) -> Sandbox | None:
    """Return the row of the active sandbox of a project: the plain one, or the editable one."""
    return db.session.scalar(
        sa.select(Sandbox).where(
            Sandbox.project_id == project_id, Sandbox.editable.is_(editable), Sandbox.state.in_(ACTIVE_STATES)
        )
    )


def complete_log(sandbox_id: str) -> str:
    """Return the stored log of a failed start without escape codes. Empty if there is none."""
    sandbox = db.session.get(Sandbox, sandbox_id)
    return plain((sandbox.log if sandbox is not None else None) or "")


def claim(
    project: Project,
    user: User,
    *,
    node: str,
    address: Callable[[str], str],
    limits: SandboxLimits,
    editable: bool = False,
) -> tuple[Sandbox, bool]:
    """Return the active sandbox of the project with a renewed lease, or the row of a new one and True.

    Locks rows in the order organization, user, project, so that parallel calls run one after another.

    Raises:
        LimitReached: the user or the organization has the maximum number of sandboxes (limits, section 1: Sandbox).
    """
    _lock(project, user)
    now = database_now()
    active = find_active(project.id, editable=editable)
    if active is not None and active.expires_at > now:
        active.expires_at = extend_on_connect(active.expires_at, active.created_at, now, limits)
        follow(active)
        return active, False
    if active is not None:
        end(active)
    _check_limits(project, user, limits)
    label = secrets.token_hex(16)
    sandbox = Sandbox(
        project_id=project.id,
        user_id=user.id,
        label=label,
        start_id=label,
        node=node,
        created_at=now,
        start_heartbeat_at=now,
        expires_at=at_create(now, limits),
        editable=editable,
    )
    if editable:
        marking.prepare(sandbox)
    db.session.add(sandbox)
    db.session.flush()
    begin(sandbox, address(sandbox.label))
    return sandbox, True


def restart(sandbox: Sandbox, *, node: str, limits: SandboxLimits) -> bool:
    """Begin a new start of an active sandbox, which keeps its id and label. Return False if it has ended.

    A start that is under way loses the row: it finds another `start_id`.
    """
    now = database_now()
    return _change(
        sandbox,
        *ACTIVE_STATES,
        state=PreviewState.STARTING,
        node=node,
        host_id=None,
        start_id=secrets.token_hex(16),
        commit_sha=None,
        start_heartbeat_at=now,
        expires_at=extend_on_connect(sandbox.expires_at, sandbox.created_at, now, limits),
    )


def heartbeat(sandbox: Sandbox, *, limits: SandboxLimits) -> float | None:
    """Extend the lease of an active sandbox. Return the remaining seconds, or None if it has ended."""
    locked = db.session.scalar(sa.select(Sandbox).where(Sandbox.id == sandbox.id).with_for_update())
    now = database_now()
    if locked is None or locked.state not in ACTIVE_STATES or locked.expires_at <= now:
        return None
    locked.expires_at = extend_on_heartbeat(locked.expires_at, locked.created_at, now, limits)
    follow(locked)
    return (locked.expires_at - now).total_seconds()


def record_start_heartbeat(sandbox_id: str, start_id: str) -> None:
    """Record that a start is still running, unless the host has the sandbox or the start was replaced."""
    waiting = (
        Sandbox.id == sandbox_id,
        Sandbox.start_id == start_id,
        Sandbox.host_id.is_(None),
        Sandbox.state.in_(ACTIVE_STATES),
    )
    db.session.execute(
        sa.update(Sandbox).where(*waiting).values(start_heartbeat_at=database_now()),
        execution_options={"synchronize_session": False},
    )


def set_host_id(sandbox: Sandbox, host_id: str, *, start_id: str | None) -> bool:
    """Record the reference of the host. Return False if the sandbox was stopped or started again."""
    return _change(sandbox, *ACTIVE_STATES, start_id_is=start_id, host_id=host_id)


def set_commit(sandbox: Sandbox, commit_sha: str, *, start_id: str | None, note: str | None = None) -> bool:
    """Record the commit that is shown and the note of its recipe. Return False if it was stopped or started again."""
    return _change(sandbox, PreviewState.STARTING, start_id_is=start_id, commit_sha=commit_sha, hint=note)


def mark_running(sandbox: Sandbox) -> bool:
    """Record that the server of the site answers."""
    is_changed = _change(sandbox, PreviewState.STARTING, start_id_is=sandbox.start_id, state=PreviewState.RUNNING)
    if is_changed:
        sandbox_running.publish(sandbox)
    return is_changed


def mark_failed(sandbox: Sandbox, failure: StartFailure, *, start_id: str | None) -> bool:
    """Record a failure. Removes the logs of earlier failures of the project."""
    # PostgreSQL does not accept NUL in text, and the output of a site may contain any byte.
    log = failure.log[-MAX_LOG_CHARACTERS:].replace("\x00", "") if failure.log is not None else None
    db.session.execute(
        sa.update(Sandbox)
        .where(Sandbox.project_id == sandbox.project_id, Sandbox.id != sandbox.id, Sandbox.log.is_not(None))
        .values(log=None),
        execution_options={"synchronize_session": False},
    )
    is_changed = _change(
        sandbox,
        *ACTIVE_STATES,
        start_id_is=start_id,
        state=PreviewState.FAILED,
        code=failure.code,
        problem=failure.problem.replace("\x00", ""),
        step=failure.step,
        hint=failure.hint,
        log=log,
        ended_at=database_now(),
    )
    if is_changed:
        sandbox_failed.publish(sandbox)
    return is_changed


def end(sandbox: Sandbox) -> bool:
    """Record that the sandbox was stopped or no longer exists."""
    return _change(sandbox, *ACTIVE_STATES, state=PreviewState.STOPPED, ended_at=database_now())


def end_start(sandbox: Sandbox, *, start_id: str | None) -> bool:
    """Record that the sandbox of one start no longer exists. A newer start stays."""
    return _change(sandbox, *ACTIVE_STATES, start_id_is=start_id, state=PreviewState.STOPPED, ended_at=database_now())


def _lock(project: Project, user: User) -> None:
    for table, key in ((Organization, project.organization_id), (User, user.id), (Project, project.id)):
        db.session.execute(sa.select(table.id).where(table.id == key).with_for_update())


def _check_limits(project: Project, user: User, limits: SandboxLimits) -> None:
    active = (
        sa.select(sa.func.count())
        .select_from(Sandbox)
        .where(Sandbox.state.in_(ACTIVE_STATES), Sandbox.expires_at > database_now())
    )
    if db.session.scalar(active.where(Sandbox.user_id == user.id)) >= limits.per_user:  # type: ignore[operator]
        raise LimitReached(f"You have {limits.per_user} previews running; stop one first")
    of_organization = active.join(Project).where(Project.organization_id == project.organization_id)
    if db.session.scalar(of_organization) >= limits.per_organization:  # type: ignore[operator]
        raise LimitReached(f"The organization has {limits.per_organization} previews running; stop one first")


def _change(
    sandbox: Sandbox, *states: PreviewState, start_id_is: str | None = _ANY, **values: str | datetime | None
) -> bool:
    """Change the row if it is in one of the states and, if given, in this start. Return whether it was changed."""
    conditions = [Sandbox.id == sandbox.id, Sandbox.state.in_(states)]
    if start_id_is != _ANY:
        conditions.append(Sandbox.start_id.is_not_distinct_from(start_id_is))
    changed = db.session.execute(
        sa.update(Sandbox)
        .where(*conditions)
        .values({getattr(Sandbox, name): value for name, value in values.items()})
        .execution_options(synchronize_session=False)
        .returning(Sandbox.id)
    ).scalar()
    if changed is None:
        return False
    db.session.refresh(sandbox)
    follow(sandbox)
    return True
