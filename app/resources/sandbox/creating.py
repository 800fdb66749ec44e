"""What a call to create does: connect to the project's live sandbox, or claim one and have it started."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app import transactions
from app.core.clock import iso
from app.core.limits import SandboxLimits
from app.drivers.sandbox.port import SandboxGone, SandboxHost
from app.extensions import db
from app.models.project import Project
from app.models.project_preview import PreviewState
from app.models.sandbox import LIVE, Sandbox
from app.models.user import User
from app.resources.sandbox import lease, service, watching
from app.resources.sandbox.addresses import Place
from app.resources.sandbox.schemas import CreateBody, FileBody
from app.resources.sandbox.starting import Starter, Wish

CLAIMS = 3
"""How often one that turns out to be gone is looked past for another."""


@dataclass(frozen=True)
class Creation:
    """What the call came to: whose sandbox, whether it is new, and the file that is still to be written into it."""

    sandbox_id: str
    made: bool
    pending: FileBody | None


def create(
    project: Project, actor: User, body: CreateBody, *, starter: Starter, place: Place, limits: SandboxLimits
) -> Creation | None:
    """Find or claim the project's sandbox; None where only a running one was wanted and there is none.

    Must be called while only reading; writes in short transactions of its own and calls the host between them.

    Raises:
        SandboxUnavailable: no sandbox can be run here.
        LimitReached: the caller or the organization has as many as they may.
        SandboxStopped: others end what is found, one after another.
    """
    host = starter.host
    found = _reconciled(project, host)
    file = body["uncommittedFile"]
    if body["onlyIfActive"]:
        running = found is not None and found.state is PreviewState.RUNNING
        return Creation(found.id, made=False, pending=file) if found is not None and running else None
    host.check()
    if found is not None and body["forceSync"]:
        stop(found, host)
    for _ in range(CLAIMS):
        with transactions.writing():
            sandbox, made = service.claim(
                project, actor, node=host.node, address=lambda label: place.address(label).url, limits=limits
            )
        if made:
            break
        renew(sandbox, host)
        if sandbox.state in LIVE:
            return Creation(sandbox.id, made=False, pending=file)
    else:
        raise watching.SandboxStopped
    wish = Wish(body["branch"], body["commitSha"], {file["path"]: file["content"].encode()} if file else None)
    starter.begin(sandbox.id, wish, place.address(sandbox.label), lifetime_s=limits.lifetime_s)
    return Creation(sandbox.id, made=True, pending=None)


def steps(creation: Creation, host: SandboxHost) -> Iterator[str]:
    """Follow it until it runs, then write the file that was waiting for that. Raises what `watching.follow` raises."""
    yield from watching.follow(creation.sandbox_id, host)
    if creation.pending is not None:
        transactions.start_reading()
        reference = db.session.get_one(Sandbox, creation.sandbox_id).reference or ""
        transactions.rest()
        host.write(reference, creation.pending["path"], creation.pending["content"].encode())


def present(creation: Creation, user_id: str, *, place: Place, wrote: bool) -> dict[str, Any]:
    """The running sandbox as the answer has it; the address lets this user in."""
    transactions.start_reading()
    sandbox = db.session.get_one(Sandbox, creation.sandbox_id, populate_existing=True)
    told: dict[str, Any] = {
        "done": True,
        "active": True,
        "sandboxId": sandbox.id,
        "sandboxName": sandbox.label,
        "previewUrl": place.link(sandbox.label, user_id),
        "commitSha": sandbox.commit_sha,
        "status": sandbox.state.value,
        "expiresAt": iso(sandbox.expires_at),
    }
    return told | ({"uncommittedSynced": True} if wrote else {})


def renew(sandbox: Sandbox, host: SandboxHost) -> None:
    """Tell the host how long the lease is now; one that is not there yet hears it from its start."""
    left_s = (sandbox.expires_at - lease.now()).total_seconds()
    transactions.rest()
    if sandbox.reference is not None:
        try:
            host.extend(sandbox.reference, left_s)
        except SandboxGone:
            transactions.start_reading()
            watching.advance(sandbox, host)


def stop(sandbox: Sandbox, host: SandboxHost) -> None:
    """End it, for the row first: whoever is about to hand it over then takes it back."""
    with transactions.writing():
        service.end(sandbox)
    transactions.rest()
    if sandbox.reference is not None:
        host.stop(sandbox.reference)
    transactions.start_reading()


def _reconciled(project: Project, host: SandboxHost) -> Sandbox | None:
    found = service.live_of(project.id)
    if found is None:
        return None
    watching.advance(found, host)
    transactions.start_reading()
    return found if found.state in LIVE and found.expires_at > lease.now() else None
