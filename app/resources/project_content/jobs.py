"""The jobs that keep indexes at their branches' heads."""

from datetime import timedelta

import sqlalchemy as sa
import structlog

from app import transactions
from app.core.jobs import job
from app.drivers.errors import DriverError, NeedsReconnect, Rejected
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import RepoRef
from app.drivers.storage.near import NearStore
from app.extensions import db
from app.models.organization import Status
from app.models.project import Project, Provider
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content import describing, indexes, indexing, snapshot, sweeping
from app.resources.project_content.source import Disconnected, source_of

log = structlog.get_logger(__name__)

FOLLOW_EVERY = timedelta(seconds=15)

SWEEP_EVERY, TIDY_EVERY, COMPLETE_EVERY = timedelta(hours=6), timedelta(hours=24), timedelta(hours=1)

KEPT_FOR = timedelta(hours=24)
"""A stored tree is put before it is named, and somebody may still be reading the one before."""

BLOBS_AT_ONCE, REST = 1_500, timedelta(minutes=20)
"""Of a host that gives one blob a call, so that people's own calls keep most of its hourly allowance."""


@job("content.index", uses=("git", "progress"), priority=5)
def index_branch(*, index_id: str, git: GitHosts, progress: indexing.Progress) -> None:
    """Bring one branch's index to the branch's head. A repository that is gone makes it `failed`, with the reason."""
    transactions.start_reading()
    index = db.session.get(ContentIndex, index_id)
    if index is None:
        return
    project = db.session.get_one(Project, index.project_id)
    try:
        indexing.catch_up(index, source_of(project, git, branch=index.branch), progress)
    except (Rejected, Disconnected, NeedsReconnect) as error:
        _fail(index_id, str(error))
    except DriverError as error:
        _fail(index_id, str(error))
        raise


def _fail(index_id: str, problem: str) -> None:
    """An index that was whole stays readable, as stale."""
    db.session.rollback()
    with transactions.writing():
        index = db.session.get(ContentIndex, index_id)
        if index is not None:
            index.status = IndexStatus.FAILED if index.commit_sha is None else IndexStatus.STALE
            index.problem = problem


@job("content.snapshot", uses=("trees",), priority=5)
def store_snapshot(*, index_id: str, trees: NearStore) -> None:
    """Store the tree of a branch where every node finds it."""
    transactions.start_reading()
    snapshot.refresh(index_id, trees)


@job("content.describe", uses=("git", "progress"))
def describe_branch(*, index_id: str, git: GitHosts, progress: indexing.Progress) -> None:
    """Read the text of what is new on a branch, so that it is found by its words."""
    transactions.start_reading()
    index = db.session.get(ContentIndex, index_id)
    if index is None:
        return
    project = db.session.get_one(Project, index.project_id)
    at_most = None if project.provider == Provider.LOCAL else BLOBS_AT_ONCE
    try:
        source = source_of(project, git, branch=index.branch)
        whole = describing.catch_up(index, source, at_most=at_most, progress=progress)
    except (Rejected, Disconnected, NeedsReconnect) as error:
        log.info("content.texts_unreadable", index_id=index_id, error=str(error))
        return
    if not whole:
        with transactions.writing():
            describing.ask(index, delay=REST)


@job("content.sweep")
def sweep() -> None:
    """Delete what indexes that went have left behind."""
    sweeping.sweep()


@job("content.sweep_all", every=SWEEP_EVERY, retries=0)
def sweep_regularly() -> None:
    """The same, for what went in another way, and for blobs that no branch has any more."""
    sweeping.sweep()


@job("content.sweep_trees", every=SWEEP_EVERY, retries=0, uses=("trees",), priority=-5)
def sweep_trees(*, trees: NearStore) -> None:
    """Delete stored trees that no branch is at any more."""
    sweeping.sweep_trees(trees, KEPT_FOR)


@job("content.complete", every=COMPLETE_EVERY, retries=0)
def complete() -> None:
    """Have done again what was given up: trees that are not stored, texts that were not read."""
    sweeping.ask_for_missing()


@job("content.tidy", every=TIDY_EVERY, retries=0, uses=("git",), priority=-5)
def tidy_repositories(*, git: GitHosts) -> None:
    """Pack local repositories that many saves have left loose."""
    if git.local is None:
        return
    transactions.start_reading()
    names = sa.select(Project.repository).where(Project.provider == Provider.LOCAL, Project.repository != "").distinct()
    found = list(db.session.scalars(names))
    transactions.rest()
    for name in found:
        try:
            git.local.tidy(RepoRef(name))
        except DriverError as error:
            log.info("content.untidy", repository=name, error=str(error))


@job("content.follow_local", every=FOLLOW_EVERY, retries=0, uses=("git",))
def follow_local(*, git: GitHosts) -> None:
    """Notice pushes to local repositories: look at the heads of active projects, and ask for an index that is behind."""
    if git.local is None:
        return
    transactions.start_reading()
    found = db.session.execute(
        sa.select(ContentIndex, Project)
        .join(Project, sa.and_(Project.id == ContentIndex.project_id, Project.branch == ContentIndex.branch))
        .where(Project.provider == Provider.LOCAL, Project.status == Status.ACTIVE, Project.repository != "")
    ).all()
    moved = [index.id for index, project in found if _is_behind(index, project, git)]
    for index_id in moved:
        with transactions.writing():
            index = db.session.get(ContentIndex, index_id)
            if index is not None:
                indexing.ask(index)


def _is_behind(index: ContentIndex, project: Project, git: GitHosts) -> bool:
    try:
        source = source_of(project, git)
        return indexes.is_behind(index.status, index.commit_sha, lambda: source.git.head(source.repo, source.branch))
    except DriverError as error:
        log.info("content.head_unreadable", project_id=project.id, error=str(error))
        return False
