"""Rows of builds: requests, claims of a node, changes of state, and the stored bytes of organizations."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.errors import Conflict, NotFound
from app.core.limits import MIB, BuildLimits
from app.database import transactions
from app.drivers.sandbox.port import SandboxHost, SandboxUnavailable
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet, ChangeSetState
from app.models.project import Project
from app.models.review_link import ReviewLink
from app.models.site_build import RUNNING, UNFINISHED, BuildState, SiteBuild, SiteBuildFile
from app.resources.site_build.events import build_ended
from app.runtimes.failure import plain

ADVANCE = "site_build.advance"
DELETE_OBJECTS = "site_build.delete_objects"
OF_SET = "site_build.of_set"
COMMITS_WITHIN = timedelta(minutes=1)
"""The commits of this time make one build."""
SUPERSEDED = "A newer commit of the change set is built"


class StorageLimitReached(Conflict):
    """The stored builds of an organization have the maximum size (409). The result contains both sizes."""

    code, message = "STORAGE_LIMIT", "The storage for builds is full. Delete builds, or wait until they expire"


@dataclass(frozen=True)
class Failure:
    """The reason of a failed build."""

    code: str
    problem: str
    step: str | None = None
    hint: str | None = None
    log: str | None = None


def request(
    project: Project, commit_sha: str, *, user_id: str | None, change_set_id: str | None = None, limit_mb: int
) -> tuple[SiteBuild, bool]:
    """Return the build of a commit that is not failed or expired, or a new one and True.

    A new build of a change set cancels the unfinished builds of its earlier commits to which no active link is fixed.

    Raises:
        NotFound: the project was deleted.
        StorageLimitReached: the organization has no storage for builds left.
    """
    # The completion of a build inserts rows that refer to the project while this waits for the row of the build.
    own_row = sa.select(Project.id).where(Project.id == project.id).with_for_update(key_share=True)
    if db.session.scalar(own_row) is None:
        raise NotFound
    own = SiteBuild.project_id == project.id
    states = SiteBuild.state.in_([*UNFINISHED, BuildState.READY])
    present = db.session.scalar(sa.select(SiteBuild).where(own, SiteBuild.commit_sha == commit_sha, states))
    if change_set_id is not None:
        _supersede(change_set_id, commit_sha)
    if present is not None:
        present.change_set_id = present.change_set_id or change_set_id
        return present, False
    used = stored_bytes(project.organization_id)
    if used >= limit_mb * MIB:
        raise StorageLimitReached(result={"used": used, "limit": limit_mb * MIB})
    build = SiteBuild(
        project_id=project.id,
        commit_sha=commit_sha,
        user_id=user_id,
        change_set_id=change_set_id,
        label=secrets.token_hex(16),
        state=BuildState.WAITING,
    )
    db.session.add(build)
    db.session.flush()
    jobs.enqueue(ADVANCE, unique=ADVANCE)
    return build, True


def can_build(host: SandboxHost) -> bool:
    """Return whether this node can build sites. Can start a process."""
    with transactions.outside_transaction():
        try:
            host.check()
        except SandboxUnavailable:
            return False
    return True


def request_set(change_set: ChangeSet, project: Project, *, user_id: str | None, limit_mb: int) -> None:
    """Request the builds of a change set, of the commit on which it is based, and of the commits of its active links.

    Raises:
        StorageLimitReached: the organization has no storage for builds left.
    """
    head, base = change_set.head_sha, change_set.base_sha
    request(project, head, user_id=user_id, change_set_id=change_set.id, limit_mb=limit_mb)
    request(project, base, user_id=user_id, limit_mb=limit_mb)
    for commit_sha in db.session.scalars(_fixed_commits(change_set.id)).all():
        if commit_sha != head:
            build, _is_new = request(project, commit_sha, user_id=user_id, limit_mb=limit_mb)
            build.change_set_id = build.change_set_id or change_set.id


def build_set_later(change_set_id: str, *, is_new: bool = False) -> None:
    """Enqueue the builds of `request_set`."""
    delay = timedelta(0) if is_new else COMMITS_WITHIN
    jobs.enqueue(OF_SET, unique=f"{OF_SET}:{change_set_id}", delay=delay, change_set_id=change_set_id)


def has_builds(change_set: ChangeSet) -> bool:
    """Return whether the commits of an open set are built: those of a draft only if it has an active review link."""
    if change_set.state is not ChangeSetState.DRAFT:
        return True
    link = sa.exists().where(ReviewLink.change_set_id == change_set.id, ReviewLink.is_active)
    return bool(db.session.scalar(sa.select(link)))


def _fixed_commits(change_set_id: str) -> sa.Select[str]:
    """Return the statement of the commits to which active links of a set are fixed."""
    commit: sa.ColumnElement[str] = sa.type_coerce(ReviewLink.commit_sha, sa.String)
    own = ReviewLink.change_set_id == change_set_id, ReviewLink.commit_sha.is_not(None), ReviewLink.is_active
    return sa.select(commit).where(*own).distinct()


def _supersede(change_set_id: str, commit_sha: str) -> None:
    earlier = sa.select(SiteBuild).where(SiteBuild.change_set_id == change_set_id, SiteBuild.state.in_(UNFINISHED))
    earlier = earlier.where(SiteBuild.commit_sha.not_in(_fixed_commits(change_set_id)))
    for build in db.session.scalars(earlier.where(SiteBuild.commit_sha != commit_sha).with_for_update()).all():
        _mark_failed(build, Failure("SUPERSEDED", SUPERSEDED))


def stored_bytes(organization_id: str) -> int:
    """Return the bytes of the stored files of an organization. Equal files of a project count once."""
    own = sa.select(SiteBuildFile.project_id, SiteBuildFile.sha256, SiteBuildFile.size.label("size")).distinct()
    own = own.join(Project, Project.id == SiteBuildFile.project_id).where(Project.organization_id == organization_id)
    return int(db.session.scalar(sa.select(sa.func.coalesce(sa.func.sum(own.subquery().c.size), 0))) or 0)


def next_waiting(*, limit: int) -> Sequence[str]:
    """Return the oldest waiting build of each organization. An organization whose last build started first is first.

    An organization with many waiting builds therefore does not delay the others.
    """
    if db.session.scalar(sa.select(SiteBuild.id).where(SiteBuild.state == BuildState.WAITING).limit(1)) is None:
        return ()
    waiting = sa.func.min(sa.case((SiteBuild.state == BuildState.WAITING, SiteBuild.id)))
    statement = sa.select(waiting).join(Project, Project.id == SiteBuild.project_id).group_by(Project.organization_id)
    started = sa.func.max(SiteBuild.started_at)
    statement = statement.having(waiting.is_not(None)).order_by(started.asc().nulls_first(), waiting)
    return db.session.scalars(statement.limit(limit)).all()


def claim(build_id: str, *, node: str, processes: int, limits: BuildLimits) -> int | None:
    """Claim a waiting build for a node. Return the number of the attempt, or None if it cannot start now.

    All unfinished builds are locked in one order, so that parallel claims count each other. A build that was claimed
    and has no sandbox is claimed again: the job of the earlier claim ended with its process.
    """
    statement = sa.select(SiteBuild).where(SiteBuild.state.in_(UNFINISHED)).order_by(SiteBuild.id).with_for_update()
    rows = db.session.scalars(statement).all()
    build = next((row for row in rows if row.id == build_id and row.host_id is None), None)
    if build is None:
        return None
    running = [row for row in rows if row.state in RUNNING and row.id != build_id]
    projects = sa.select(Project.id, Project.organization_id).where(Project.id.in_([row.project_id for row in rows]))
    owners = dict(db.session.execute(projects).all())
    same_owner = sum(owners.get(row.project_id) == owners.get(build.project_id) for row in running)
    if sum(row.node == node for row in running) >= processes or same_owner >= limits.per_organization:
        return None
    if build.attempt >= limits.attempts:
        fail(build, Failure("UNAVAILABLE", "The build was started repeatedly and did not end"))
        return None
    build.state, build.node, build.attempt = BuildState.INSTALLING, node, build.attempt + 1
    build.started_at = utcnow_ms()
    return build.attempt


def locked_attempt(build_id: str, attempt: int) -> SiteBuild | None:
    """Return the locked row of a running build if this attempt is the present one, else None."""
    own = SiteBuild.id == build_id, SiteBuild.attempt == attempt, SiteBuild.state.in_(RUNNING)
    return db.session.scalar(sa.select(SiteBuild).where(*own).with_for_update())


def fail(build: SiteBuild, failure: Failure) -> None:
    """Mark an unfinished build as failed, and publish its end."""
    _mark_failed(build, failure)
    build_ended.publish(build)


def _mark_failed(build: SiteBuild, failure: Failure) -> None:
    build.state, build.ended_at = BuildState.FAILED, utcnow_ms()
    build.code, build.problem, build.step, build.hint = failure.code, failure.problem, failure.step, failure.hint
    if failure.log is not None:
        build.log = plain(failure.log)


def complete(
    build: SiteBuild, files: Sequence[Mapping[str, object]], *, size: int, stored: int, limits: BuildLimits
) -> None:
    """Mark a running build as ready, with the rows of its files. `stored` is the number of new objects."""
    now = utcnow_ms()
    db.session.execute(sa.insert(SiteBuildFile), list(files))
    build.state, build.ended_at, build.expires_at = BuildState.READY, now, now + timedelta(seconds=limits.retention_s)
    build.files, build.size, build.stored = len(files), size, stored
    build_ended.publish(build)


def remove(build: SiteBuild) -> None:
    """Delete the row of a build and its files. A job deletes the objects that no other build has."""
    project_id = build.project_id
    db.session.execute(sa.delete(SiteBuild).where(SiteBuild.id == build.id))
    delete_objects_later(project_id)


def expire(build: SiteBuild) -> None:
    """Delete the files of a ready build. Its row stays listed."""
    build.state = BuildState.EXPIRED
    db.session.execute(sa.delete(SiteBuildFile).where(SiteBuildFile.build_id == build.id))
    delete_objects_later(build.project_id)


def delete_objects_later(project_id: str) -> None:
    """Enqueue the deletion of the objects of a project without a file row."""
    jobs.enqueue(
        DELETE_OBJECTS, unique=f"{DELETE_OBJECTS}:{project_id}", lock=storage_lock(project_id), project_id=project_id
    )


def storage_lock(project_id: str) -> str:
    """Return the lock of the jobs that store and delete the objects of a project. They run one after another."""
    return f"site_build.storage:{project_id}"
