"""Jobs of builds: start in a sandbox, follow it, store its output, expire builds and delete objects without a row."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import islice

import sqlalchemy as sa
import structlog

from app.core.errors import AppError
from app.core.jobs import job
from app.core.limits import MIB
from app.database import transactions
from app.drivers.errors import DriverError, ReconnectRequired, UpstreamRejected, UpstreamUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.sandbox.port import (
    OutputLimits,
    Phase,
    SandboxEnded,
    SandboxHost,
    SandboxSpec,
    SandboxStatus,
)
from app.drivers.storage.port import ObjectStore
from app.extensions import current_settings, db, jobs
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet
from app.models.project import Project
from app.models.site_build import ADDRESS_LABEL, RUNNING, SANDBOX_PREFIX, BuildState, SiteBuild, SiteBuildFile
from app.models.user import User
from app.resources.change_set.states import OPEN
from app.resources.project_content.source import source_of
from app.resources.sandbox.lifecycle import NOT_DETECTED, NOT_DETECTED_HINT, PreviewUrls
from app.resources.sandbox.site import Site
from app.resources.site_build import queries, service
from app.resources.site_build.service import ADVANCE, DELETE_OBJECTS, OF_SET, Failure, StorageLimitReached, storage_lock
from app.resources.site_build.storing import StorageExceeded, StoredOutput, object_key, store_output
from app.resources.system.retention import purge
from app.runtimes.choose import DetectionHints, RuntimeNotDetected
from app.runtimes.failure import hint_for, hint_for_code, log_tail

log = structlog.get_logger(__name__)

INTERVAL, EXPIRE_INTERVAL = timedelta(seconds=5), timedelta(hours=1)
MAX_STARTS, BATCH_SIZE = 20, 500
NO_STATIC_OUTPUT = "This site needs a server, so it has no static output"
NO_STATIC_OUTPUT_HINT = "Set preview.build and preview.output in .galley.yml if a command writes the site to a folder."
OUTPUT_HINTS = {
    "NO_OUTPUT": "Set preview.output in .galley.yml to the folder that the build writes. Links are not followed.",
    "OUTPUT_TOO_LARGE": "Leave large and generated files out of the output.",
}
TOO_LONG = "The build took too long"
NODE_ENDED = "The machine that built the site is not available"
BUILD_STEPS = {Phase.INSTALLING: "Installing dependencies", Phase.BUILDING: "Building"}


def sandbox_name(build: SiteBuild) -> str:
    """Return the name of the sandbox of the present attempt."""
    return f"{SANDBOX_PREFIX}{build.id.removeprefix('bld_')}-{build.attempt}"


@job(ADVANCE, every=INTERVAL, retries=0, uses=("sandbox",))
def advance(*, sandbox: SandboxHost) -> None:
    """Start waiting builds, follow the running ones of this node, and stop sandboxes that no build names."""
    ids = service.next_waiting(limit=MAX_STARTS)
    if ids:
        with transactions.write_transaction():
            for build_id in ids:
                jobs.enqueue("site_build.start", unique=f"site_build.start:{build_id}", build_id=build_id)
    for build in db.session.scalars(sa.select(SiteBuild).where(SiteBuild.state.in_(RUNNING))).all():
        if build.host_id is not None and build.node == sandbox.node:
            _isolated(build.id, partial(_follow, build, sandbox))
        else:
            _fail_if_late(build)
    _stop_unreferenced(sandbox)


def _isolated(name: str, run: Callable[[], None]) -> None:
    """Run a step for one build. Its failure is logged, so that the other builds go on."""
    try:
        run()
    except DriverError as error:
        transactions.rollback()
        log.warning("build.step_failed", build_id=name, error=str(error))


def _fail_if_late(build: SiteBuild) -> None:
    limits = current_settings().limits.builds
    if build.started_at is None or build.started_at + timedelta(seconds=limits.lifetime_s) > utcnow_ms():
        return
    _fail(build.id, build.attempt, Failure("UNAVAILABLE", NODE_ENDED))


def _stop_unreferenced(host: SandboxHost) -> None:
    with transactions.outside_transaction():
        sandboxes = {ref: name for ref, name in host.list_sandboxes().items() if name.startswith(SANDBOX_PREFIX)}
    running = db.session.scalars(sa.select(SiteBuild).where(SiteBuild.state.in_(RUNNING))).all()
    names = {sandbox_name(build) for build in running}
    for reference, name in sandboxes.items():
        if name not in names:
            _isolated(name, partial(_stop, host, reference))


def _stop(host: SandboxHost, reference: str) -> None:
    with transactions.outside_transaction():
        host.stop(reference)


def _fail(build_id: str, attempt: int, failure: Failure) -> None:
    transactions.rollback()
    with transactions.write_transaction():
        build = service.locked_attempt(build_id, attempt)
        if build is not None:
            service.fail(build, failure)


@job(OF_SET, retries=2, uses=("sandbox",))
def build_set(*, change_set_id: str, sandbox: SandboxHost) -> None:
    """Request the builds of an open change set, if the project has them and this installation can build."""
    change_set = db.session.get(ChangeSet, change_set_id)
    project = db.session.get(Project, change_set.project_id) if change_set is not None else None
    if change_set is None or project is None or not project.build_change_sets:
        return
    if change_set.state not in OPEN or not service.has_builds(change_set):
        return
    if not service.can_build(sandbox):
        return
    limit_mb, user_id = current_settings().sandbox.build_storage_mb, change_set.creator_id
    try:
        with transactions.write_transaction():
            service.request_set(change_set, project, user_id=user_id, limit_mb=limit_mb)
    except StorageLimitReached as error:
        log.info("build.not_requested", change_set_id=change_set_id, error=str(error))


@job("site_build.start", retries=2, uses=("git", "sandbox"))
def start(*, build_id: str, git: GitHosts, sandbox: SandboxHost) -> None:
    """Claim a build for this node and start its sandbox. Does nothing if the node or the organization is busy."""
    settings = current_settings()
    if settings.sandbox.build_processes == 0 or not service.can_build(sandbox):  # Another node may build it.
        return
    with transactions.write_transaction():
        attempt = service.claim(
            build_id,
            node=sandbox.node,
            processes=settings.sandbox.build_processes,
            limits=settings.limits.builds,
        )
    if attempt is None:
        return
    try:
        _start(build_id, attempt, git, sandbox)
    except RuntimeNotDetected as error:
        _fail(build_id, attempt, Failure("RUNTIME_UNKNOWN", str(error) or NOT_DETECTED, hint=NOT_DETECTED_HINT))
    except (AppError, UpstreamRejected, UpstreamUnavailable) as error:
        _fail(build_id, attempt, Failure(error.code, str(error), hint=hint_for_code(error.code, str(error))))
    except ReconnectRequired as error:
        _fail(build_id, attempt, Failure("NEEDS_RECONNECT", str(error)))
    except DriverError as error:
        _fail(build_id, attempt, Failure("BUILD_FAILED", str(error)))


def _start(build_id: str, attempt: int, git: GitHosts, host: SandboxHost) -> None:
    settings = current_settings()
    build = db.session.get_one(SiteBuild, build_id)
    project = db.session.get_one(Project, build.project_id)
    user = db.session.get(User, build.user_id) if build.user_id is not None else None
    address = PreviewUrls.of(settings).address(ADDRESS_LABEL)
    hints = DetectionHints(project.paths.get("content") or "", settings.sandbox.module_proxy)
    name, owner, commit = sandbox_name(build), project.organization_id, build.commit_sha
    with transactions.outside_transaction():
        site = Site.at(source_of(project, git, user=user), commit, {})
        recipe = site.recipe(address, hints)
    if recipe.output is None:
        _fail(build_id, attempt, Failure("NO_STATIC_OUTPUT", NO_STATIC_OUTPUT, hint=NO_STATIC_OUTPUT_HINT))
        return
    spec = SandboxSpec(name, owner, recipe, settings.limits.builds.lifetime_s, builds=True)
    with transactions.outside_transaction():
        reference = host.start(spec, site.files())
    with transactions.write_transaction():
        current = service.locked_attempt(build_id, attempt)
        if current is not None:
            current.host_id = reference
    if current is None:
        _stop(host, reference)


def _follow(build: SiteBuild, host: SandboxHost) -> None:
    """Record the progress of a running build. Its output is stored by another job."""
    build_id, attempt, reference, state = build.id, build.attempt, build.host_id or "", build.state
    with transactions.outside_transaction():
        status = host.status(reference)
        text = host.read_log(reference) if status.phase is Phase.FAILED else status.log
    if status.phase is Phase.FAILED:
        _fail(build_id, attempt, _failure(status, text))
    elif status.phase is Phase.ENDED:
        _fail(build_id, attempt, Failure("BUILD_FAILED", TOO_LONG, BUILD_STEPS[Phase.BUILDING]))
    elif status.phase is Phase.BUILT:
        _enqueue_store(build_id, attempt, build.project_id)
    elif status.phase is Phase.BUILDING or state is BuildState.INSTALLING:
        with transactions.write_transaction():
            current = service.locked_attempt(build_id, attempt)
            if current is not None:
                current.log = log_tail(text)
                current.state = BuildState.BUILDING if status.phase is Phase.BUILDING else current.state
    if status.phase in (Phase.FAILED, Phase.ENDED):
        _stop(host, reference)


def _enqueue_store(build_id: str, attempt: int, project_id: str) -> None:
    with transactions.write_transaction():
        jobs.enqueue(
            "site_build.store",
            unique=f"site_build.store:{build_id}",
            lock=storage_lock(project_id),
            build_id=build_id,
            attempt=attempt,
        )


def _failure(status: SandboxStatus, text: str) -> Failure:
    hint = hint_for(
        status.cause,
        text,
        status.refused_hosts,
        is_serving=status.step is not Phase.INSTALLING,
        unreachable_hosts=status.unreachable_hosts,
    )
    step = BUILD_STEPS.get(status.step or Phase.BUILDING, BUILD_STEPS[Phase.BUILDING])
    return Failure("BUILD_FAILED", status.problem or "The build failed", step, hint, text)


@job("site_build.store", retries=5, uses=("sandbox", "storage"))
def store(*, build_id: str, attempt: int, sandbox: SandboxHost, storage: ObjectStore) -> None:
    """Store the output of a finished build. A repetition stores only what is missing."""
    build = db.session.get(SiteBuild, build_id)
    if build is None or build.attempt != attempt or build.state not in RUNNING or build.node != sandbox.node:
        return
    settings, reference, project_id = current_settings(), build.host_id or "", build.project_id
    limits, limit_bytes = settings.limits.builds, settings.sandbox.build_storage_mb * MIB
    project = db.session.get_one(Project, project_id)
    free_bytes = limit_bytes - service.stored_bytes(project.organization_id)
    own = sa.select(SiteBuildFile.sha256).where(SiteBuildFile.project_id == project_id).distinct()
    known, output = set(db.session.scalars(own)), StoredOutput(build_id, project_id)
    bounds = OutputLimits(limits.files, limits.output_bytes)
    try:
        with transactions.outside_transaction():
            files = sandbox.output(reference, bounds)
            store_output(files, output, known=known, store=storage, free_bytes=free_bytes)
    except StorageExceeded:
        _fail_storing(build_id, attempt, project_id, Failure("STORAGE_LIMIT", StorageLimitReached.message))
    except UpstreamRejected as error:
        failure = Failure(error.code, str(error), BUILD_STEPS[Phase.BUILDING], OUTPUT_HINTS.get(error.code))
        _fail_storing(build_id, attempt, project_id, failure)
    except SandboxEnded:
        _fail_storing(build_id, attempt, project_id, Failure("BUILD_FAILED", TOO_LONG, BUILD_STEPS[Phase.BUILDING]))
    else:
        _complete(build_id, attempt, output)
    _stop(sandbox, reference)


def _fail_storing(build_id: str, attempt: int, project_id: str, failure: Failure) -> None:
    """Mark a build as failed, and delete the objects that were stored for it."""
    _fail(build_id, attempt, failure)
    with transactions.write_transaction():
        service.delete_objects_later(project_id)


def _complete(build_id: str, attempt: int, output: StoredOutput) -> None:
    with transactions.write_transaction():
        build = service.locked_attempt(build_id, attempt)
        if build is None:
            service.delete_objects_later(output.project_id)
            return
        if not output.rows:
            hint = OUTPUT_HINTS["NO_OUTPUT"]
            service.fail(build, Failure("NO_OUTPUT", "The build wrote no file", BUILD_STEPS[Phase.BUILDING], hint))
            return
        limits = current_settings().limits.builds
        service.complete(build, output.rows, size=output.size, stored=output.new_objects, limits=limits)


@job("site_build.expire", every=EXPIRE_INTERVAL, retries=2)
def expire() -> None:
    """Delete the files of old builds that no review link opens, and the rows of builds that ended long ago."""
    due = sa.select(SiteBuild.id).where(SiteBuild.state == BuildState.READY, SiteBuild.expires_at < utcnow_ms())
    for build_id in db.session.scalars(due.where(~queries.is_linked())).all():
        with transactions.locked_row(SiteBuild, build_id) as build:
            if build is not None and build.state is BuildState.READY:
                service.expire(build)
    old = SiteBuild.ended_at < utcnow_ms() - timedelta(seconds=current_settings().limits.builds.record_retention_s)
    purge(SiteBuild, sa.and_(SiteBuild.state.in_([BuildState.FAILED, BuildState.EXPIRED]), old))


@job(DELETE_OBJECTS, retries=5, uses=("storage",))
def delete_unreferenced(*, project_id: str, storage: ObjectStore) -> None:
    """Delete the objects of a project that no file of a build has. No output is stored at the same time."""
    prefix = object_key(project_id, "")
    with transactions.outside_transaction():
        keys = iter([stored.key for stored in storage.list(prefix)])
    while batch := list(islice(keys, BATCH_SIZE)):
        hashes = {key.removeprefix(prefix) for key in batch}
        own = sa.select(SiteBuildFile.sha256).where(SiteBuildFile.project_id == project_id)
        unused = hashes - set(db.session.scalars(own.where(SiteBuildFile.sha256.in_(hashes)).distinct()))
        with transactions.outside_transaction():
            for sha256 in sorted(unused):
                storage.delete(object_key(project_id, sha256))
