"""Jobs that index branches, store trees, delete unreferenced content and pack local repositories."""

from contextlib import suppress
from datetime import timedelta

import sqlalchemy as sa
import structlog

from app.core.jobs import job
from app.database import transactions
from app.drivers.errors import DriverError, ReconnectRequired, UpstreamRejected
from app.drivers.git.errors import RepositoryDamaged
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import RepoRef
from app.drivers.storage.cached import CachedObjectStore
from app.extensions import db, jobs
from app.models.organization import ArchiveStatus
from app.models.project import Project, Provider
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content.events import index_failed
from app.resources.project_content.index import cleanup, indexes, indexing, unreadable
from app.resources.project_content.search import search_indexing
from app.resources.project_content.source import Disconnected, source_of
from app.resources.project_content.tree import tree_snapshot

log = structlog.get_logger(__name__)

FOLLOW_INTERVAL = timedelta(seconds=15)

CLEANUP_INTERVAL, PACKING_INTERVAL, COMPLETION_INTERVAL = timedelta(hours=6), timedelta(hours=1), timedelta(hours=1)

TREE_RETENTION = timedelta(hours=24)
"""A tree is stored before an index names it, and readers may still use the previous one."""

MAX_BLOBS, PAUSE = 1_500, timedelta(minutes=20)
"""Blobs per run from a host that returns one blob a call. Requests need most of the hourly allowance."""


@job("content.index", uses=("git", "progress"), priority=5)
def index_branch(*, index_id: str, git: GitHosts, progress: indexing.Progress) -> None:
    """Index the head of a branch. If the repository is unavailable, the index is `failed` with the reason."""
    index = db.session.get(ContentIndex, index_id)
    if index is None:
        return
    project = db.session.get_one(Project, index.project_id)
    try:
        is_local = project.provider == Provider.LOCAL
        indexing.update_index(index, source_of(project, git, branch=index.branch), progress, is_local=is_local)
    except (UpstreamRejected, RepositoryDamaged, Disconnected, ReconnectRequired) as error:
        _fail(index_id, str(error))
    except DriverError as error:
        if _fail(index_id, str(error)):
            raise


def _fail(index_id: str, problem: str) -> bool:
    """Mark the index as failed. A complete index stays readable and is stale. Return False if it was deleted."""
    with transactions.write_transaction():
        index = db.session.get(ContentIndex, index_id)
        if index is not None:
            index.status = IndexStatus.FAILED if index.commit_sha is None else IndexStatus.STALE
            is_known, index.problem = index.problem == problem, problem
            if not is_known:
                index_failed.publish(index, problem)
    return index is not None


@job("content.snapshot", uses=("trees",), priority=5)
def store_snapshot(*, index_id: str, trees: CachedObjectStore) -> None:
    """Store the tree of a branch in the object store."""
    tree_snapshot.refresh(index_id, trees)


@job("content.describe", uses=("git", "progress"))
def describe_branch(*, index_id: str, git: GitHosts, progress: indexing.Progress, max_blobs: int = MAX_BLOBS) -> None:
    """Index the new texts of a branch for search."""
    index = db.session.get(ContentIndex, index_id)
    if index is None:
        return
    project = db.session.get_one(Project, index.project_id)
    at_most = None if project.provider == Provider.LOCAL else max_blobs
    try:
        source = source_of(project, git, branch=index.branch)
        is_complete = search_indexing.index_new_texts(index, source, at_most=at_most, progress=progress)
        unreadable.update_problem(index_id)
    except (UpstreamRejected, Disconnected, ReconnectRequired) as error:
        log.info("content.texts_unreadable", index_id=index_id, error=str(error))
        return
    except DriverError:
        if db.session.get(ContentIndex, index_id, populate_existing=True) is not None:
            raise
        return
    if not is_complete:
        with transactions.write_transaction():
            search_indexing.enqueue(index, delay=PAUSE)


@job("content.delete_indexes")
def delete_indexes(*, project_id: str, index_ids: list[str]) -> None:
    """Delete the content of deleted indexes of a project."""
    cleanup.delete_indexes(project_id, index_ids)


@job("content.sweep", retries=0)  # Earlier versions enqueue this name.
@job("content.sweep_all", every=CLEANUP_INTERVAL, retries=0)
def delete_unreferenced_content() -> None:
    """Delete unreferenced content that no event announced, and blobs that no branch has."""
    cleanup.delete_unreferenced()


@job("content.sweep_trees", every=CLEANUP_INTERVAL, retries=0, uses=("trees",), priority=-5)
def delete_unreferenced_trees(*, trees: CachedObjectStore) -> None:
    """Delete stored trees that no index names."""
    cleanup.delete_unreferenced_trees(trees, TREE_RETENTION)


@job("content.complete", every=COMPLETION_INTERVAL, retries=0)
def complete() -> None:
    """Enqueue the trees and texts that are missing after a permanent failure."""
    cleanup.enqueue_missing()


@job("content.tidy", every=PACKING_INTERVAL, retries=0, uses=("git",), priority=-5)
def find_unpacked_repositories(*, git: GitHosts) -> None:
    """Enqueue the packing of local repositories with many loose objects or packs.

    One repository is packed at a time.
    """
    if git.local is None:
        return
    for name in git.local.bundles.names():
        with suppress(DriverError):  # It was deleted since.
            if git.local.needs_packing(RepoRef(name)):
                with transactions.write_transaction():
                    jobs.enqueue("content.pack", unique=f"content.pack:{name}", lock="content.pack", repository=name)


@job("content.pack", retries=0, uses=("git",), priority=-5)
def pack_repository(*, repository: str, git: GitHosts) -> None:
    """Pack a local repository. If it fails, the next periodic job enqueues it again."""
    if git.local is None:
        return
    try:
        git.local.repack(RepoRef(repository))
    except DriverError as error:
        log.warning("git.repack_failed", repository=repository, error=str(error))


@job("content.follow_local", every=FOLLOW_INTERVAL, retries=0, uses=("git",))
def follow_local(*, git: GitHosts) -> None:
    """Detect pushes to local repositories: compare heads of active projects and enqueue updates of their indexes."""
    if git.local is None:
        return
    rows = db.session.execute(
        sa.select(ContentIndex, Project)
        .join(Project, sa.and_(Project.id == ContentIndex.project_id, Project.branch == ContentIndex.branch))
        .where(Project.provider == Provider.LOCAL, Project.status == ArchiveStatus.ACTIVE, Project.repository != "")
    ).all()
    moved = [index.id for index, project in rows if _is_behind(index, project, git)]
    for index_id in moved:
        indexing.enqueue_existing(index_id)


def _is_behind(index: ContentIndex, project: Project, git: GitHosts) -> bool:
    try:
        source = source_of(project, git)
        return indexes.is_behind(index.status, index.commit_sha, lambda: source.git.head(source.repo, source.branch))
    except DriverError as error:
        log.info("content.head_unreadable", project_id=project.id, error=str(error))
        return False
