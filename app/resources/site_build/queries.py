"""Statements that read builds, their files and their responses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from app.core.cursors import decode_cursor, paginate
from app.extensions import db
from app.models.change_set import ChangeSet
from app.models.project import Project, role_in_project
from app.models.review_link import ReviewLink
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from app.runtimes.failure import log_tail

_CURSOR = "builds"
Shown = dict[str, object]
LINKED_COMMITS = SiteBuild.commit_sha.in_([ChangeSet.head_sha, ChangeSet.base_sha, ReviewLink.commit_sha])
"""The condition of builds of the commits that a review link shows: the head of its set, its base, or one commit."""


@dataclass(frozen=True)
class BuildPage:
    """A page of builds, newest first."""

    rows: Sequence[SiteBuild]
    meta: Shown


def page(project: Project, *, commit_sha: str | None, cursor: str | None, limit: int) -> BuildPage:
    """Return a page of the builds of a project. Raises InvalidRequest for the cursor."""
    where = [SiteBuild.project_id == project.id]
    where += [] if commit_sha is None else [SiteBuild.commit_sha == commit_sha]
    total = db.session.scalar(sa.select(sa.func.count()).select_from(SiteBuild).where(*where)) or 0
    if cursor is not None:
        where.append(SiteBuild.id < decode_cursor(cursor, _CURSOR))
    statement = sa.select(SiteBuild).where(*where).order_by(SiteBuild.id.desc()).limit(limit + 1)
    rows, following = paginate(db.session.scalars(statement).all(), limit, _CURSOR, lambda row: row.id)
    return BuildPage(rows, {"next_cursor": following, "total": total})


def shown(build: SiteBuild) -> Shown:
    """Return the response of a build. Times are in seconds, sizes in bytes."""
    failure = None
    if build.state is BuildState.FAILED:
        failure = {"code": build.code, "message": build.problem, "step": build.step, "hint": build.hint}
        failure["log_tail"] = log_tail(build.log or "")
    return {
        "id": build.id,
        "project_id": build.project_id,
        "change_set_id": build.change_set_id,
        "commit_sha": build.commit_sha,
        "state": build.state,
        "failure": failure,
        "files": build.files,
        "size": build.size,
        "stored_files": build.stored,
        "seconds": _seconds(build.started_at, build.ended_at),
        "expires_at": build.expires_at,
        "createdAt": build.created_at,
        "updatedAt": build.updated_at,
    }


def _seconds(started_at: datetime | None, ended_at: datetime | None) -> float | None:
    return None if started_at is None or ended_at is None else (ended_at - started_at).total_seconds()


def of_member(label: str, user_id: str) -> SiteBuild | None:
    """Return the build of a host name if the user has a role in its project, else None."""
    statement = sa.select(SiteBuild).join(Project, Project.id == SiteBuild.project_id)
    return db.session.scalar(statement.where(SiteBuild.label == label, role_in_project(user_id).is_not(None)))


def is_linked() -> sa.ColumnElement[bool]:
    """Return the condition of builds that an active review link shows."""
    links = sa.select(ReviewLink.id).join(ChangeSet, ChangeSet.id == ReviewLink.change_set_id)
    return links.where(ChangeSet.project_id == SiteBuild.project_id, LINKED_COMMITS, ReviewLink.is_active).exists()


def files(build_id: str, paths: Sequence[str]) -> dict[str, SiteBuildFile]:
    """Return the files of a build by path. Paths without a file are omitted."""
    possible = [path for path in paths if "\0" not in path]  # PostgreSQL has no such text.
    own = SiteBuildFile.build_id == build_id, SiteBuildFile.path.in_(possible)
    return {file.path: file for file in db.session.scalars(sa.select(SiteBuildFile).where(*own))}
