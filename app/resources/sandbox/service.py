"""Rules of sandboxes: who may have how many, how long one lives, what is recorded of it. Knows no host and no stream."""

import secrets
from collections.abc import Callable

import sqlalchemy as sa

from app.core.errors import LimitReached
from app.core.limits import SandboxLimits
from app.drivers.sandbox.port import View
from app.extensions import db
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_preview import PreviewState
from app.models.sandbox import LIVE, Sandbox
from app.models.user import User
from app.resources.sandbox import lease, records

SHOWN_LOG = 8 * 1024


def live_of(project_id: str) -> Sandbox | None:
    """The project's live sandbox, as the row tells."""
    return db.session.scalar(sa.select(Sandbox).where(Sandbox.project_id == project_id, Sandbox.state.in_(LIVE)))


def claim(
    project: Project, user: User, *, node: str, address: Callable[[str], str], limits: SandboxLimits
) -> tuple[Sandbox, bool]:
    """The project's live sandbox, its lease renewed; or the row of a new one, and True.

    Rows are locked in the order organization, user, project, so that parallel calls count one after another.

    Raises:
        LimitReached: the user or the organization has as many as they may (limits, section 1: Sandbox).
    """
    for table, key in ((Organization, project.organization_id), (User, user.id), (Project, project.id)):
        db.session.execute(sa.select(table.id).where(table.id == key).with_for_update())
    now = lease.now()
    found = live_of(project.id)
    if found is not None and found.expires_at > now:
        found.expires_at = lease.connected(found.expires_at, found.created_at, now, limits)
        records.follow(found)
        return found, False
    if found is not None:
        end(found)
    _check_limits(project, user, limits)
    made = Sandbox(
        project_id=project.id,
        user_id=user.id,
        label=secrets.token_hex(16),
        node=node,
        created_at=now,
        tended_at=now,
        expires_at=lease.at_create(now, limits),
    )
    db.session.add(made)
    db.session.flush()
    records.begin(made, address(made.label))
    return made, True


def heartbeat(sandbox: Sandbox, *, limits: SandboxLimits) -> float | None:
    """Let a live sandbox live longer; the seconds from now that it may, or None when it is gone."""
    locked = db.session.scalar(sa.select(Sandbox).where(Sandbox.id == sandbox.id).with_for_update())
    now = lease.now()
    if locked is None or locked.state not in LIVE or locked.expires_at <= now:
        return None
    locked.expires_at = lease.extended(locked.expires_at, locked.created_at, now, limits)
    records.follow(locked)
    return (locked.expires_at - now).total_seconds()


def tended(sandbox_id: str) -> None:
    """Note that it is still being started, unless a host has it or it is stopped."""
    waiting = (Sandbox.id == sandbox_id, Sandbox.reference.is_(None), Sandbox.state.in_(LIVE))
    db.session.execute(
        sa.update(Sandbox).where(*waiting).values(tended_at=lease.now()),
        execution_options={"synchronize_session": False},
    )


def handed_over(sandbox: Sandbox, reference: str) -> bool:
    """Note what the host calls it; False when it was stopped meanwhile."""
    return _change(sandbox, *LIVE, reference=reference)


def commit_found(sandbox: Sandbox, commit_sha: str) -> bool:
    """Note which commit it shows; False when it was stopped meanwhile."""
    return _change(sandbox, PreviewState.STARTING, commit_sha=commit_sha)


def running(sandbox: Sandbox) -> bool:
    """The server inside answers."""
    return _change(sandbox, PreviewState.STARTING, state=PreviewState.RUNNING)


def failed(sandbox: Sandbox, problem: str, *, code: str = "SANDBOX_FAILED", view: View | None = None) -> bool:
    """It came to nothing, or came to an end; the end of its log stays to be shown."""
    # PostgreSQL takes no NUL in text, and what a site prints may hold any byte.
    log = view.log[-SHOWN_LOG:].replace("\x00", "") if view is not None else None
    values = {"state": PreviewState.FAILED, "code": code, "problem": problem, "log": log, "ended_at": lease.now()}
    return _change(sandbox, *LIVE, **values)


def end(sandbox: Sandbox) -> bool:
    """It is stopped, or gone."""
    return _change(sandbox, *LIVE, state=PreviewState.STOPPED, ended_at=lease.now())


def _check_limits(project: Project, user: User, limits: SandboxLimits) -> None:
    live = (
        sa.select(sa.func.count()).select_from(Sandbox).where(Sandbox.state.in_(LIVE), Sandbox.expires_at > lease.now())
    )
    if db.session.scalar(live.where(Sandbox.user_id == user.id)) >= limits.a_user:  # type: ignore[operator]
        raise LimitReached(f"You have {limits.a_user} previews running; stop one first")
    of_organization = live.join(Project).where(Project.organization_id == project.organization_id)
    if db.session.scalar(of_organization) >= limits.an_organization:  # type: ignore[operator]
        raise LimitReached(f"The organization has {limits.an_organization} previews running; stop one first")


def _change(sandbox: Sandbox, *states: PreviewState, **values: object) -> bool:
    """Change the row while it is in one of these states; whoever is late changes nothing."""
    changed = db.session.execute(
        sa.update(Sandbox)
        .where(Sandbox.id == sandbox.id, Sandbox.state.in_(states))
        .values(**values)
        .execution_options(synchronize_session=False)
        .returning(Sandbox.id)
    ).scalar()
    if changed is None:
        return False
    db.session.refresh(sandbox)
    records.follow(sandbox)
    return True
