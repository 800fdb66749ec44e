"""Jobs that index branches, store trees, delete unreferenced content and pack local repositories."""

from contextlib import suppress
from datetime import timedelta

import sqlalchemy as sa
import structlog

from app.core.jobs import job
from app.database import transactions
from app.drivers.errors import DriverError, ReconnectRequired, UpstreamRejected
from app.drivers.git.errors import GitObjectMissing, RepositoryDamaged
from app.drivers.git.hosts import GitHosts
from app.drivers.storage.cached import CachedObjectStore
from app.extensions import db, jobs
from app.models.organization import ArchiveStatus
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus
from app.models.project_log import LogAction
from app.models.user import User
from app.resources.project import site_detection
from app.resources.project.events import BranchMove, branch_moved
from app.resources.project.jobs import long_runs
from app.resources.project.service import follow_site
from app.resources.project.site_detection import SiteKind
from app.resources.project_content import service, unreadable
from app.resources.project_content.events import index_failed
from app.resources.project_content.index import cleanup, indexes, indexing, search_indexing
from app.resources.project_content.source import Disconnected, Source, source_of
from app.resources.project_content.tree import tree_snapshot

log = structlog.get_logger(__name__)

FOLLOW_INTERVAL = timedelta(seconds=15)

CLEANUP_INTERVAL, PACKING_INTERVAL, COMPLETION_INTERVAL = timedelta(hours=6), timedelta(hours=1), timedelta(hours=1)

TREE_RETENTION = timedelta(hours=24)
"""A tree is stored before an index names it, and readers may still use the previous one."""

MAX_BLOBS, PAUSE = 1_500, timedelta(minutes=20)
"""Blobs per run from a host that returns one blob a call. Requests need most of the hourly allowance."""

SLOT_PAUSE = timedelta(seconds=10)


@job("content.index", uses=("git", "progress"), priority=5)
def index_branch(
    *, index_id: str, git: GitHosts, progress: indexing.Progress, max_files: int = indexing.MAX_FILES
) -> None:
    """Index the head of a branch. If it cannot be read or has too many files, the index is `failed` with the reason."""
    index = db.session.get(ContentIndex, index_id)
    if index is None:
        return
    project = db.session.get_one(Project, index.project_id)
    try:
        source = source_of(project, git, branch=index.branch)
        indexing.update_index(index, source, progress, is_local=project.is_local, max_files=max_files)
    except (UpstreamRejected, RepositoryDamaged, Disconnected, ReconnectRequired) as error:
        _fail(index_id, str(error))
    except DriverError as error:
        if _fail(index_id, str(error)):
            raise
    except indexing.TooManyFiles:
        cleanup.delete_files(index_id, except_generation=index.generation)
        _fail(index_id, indexing.TOO_MANY_FILES)


@job("content.record_save", transaction=True, priority=10)
def record_save(
    *, project_id: str, branch: str, sha: str, actions: dict[str, str], user_id: str, token_id: str | None
) -> None:
    """Record a commit whose request could not do it, in the name of its user."""
    project, user = db.session.get(Project, project_id), db.session.get(User, user_id)
    if project is not None:
        branch_moved.publish(project, branch, sha)
        logged = {path: LogAction(action) for path, action in actions.items()}
        move, grant = BranchMove(branch, None, sha), service.grant_of(token_id)
        service.publish_commit(project_id, move, logged, user=user, grant=grant)


def _fail(index_id: str, problem: str) -> bool:
    """Mark the index as failed. A complete index stays readable, and is stale if the reason can disappear by itself.

    Return False if it was deleted.
    """
    with transactions.write_transaction():
        index = db.session.get(ContentIndex, index_id)
        if index is not None:
            is_final = index.commit_sha is None or problem == indexing.TOO_MANY_FILES
            index.status, index.progress = IndexStatus.FAILED if is_final else IndexStatus.STALE, None
            is_known, index.problem = index.problem == problem, problem
            if not is_known:
                index_failed.publish(index, problem)
    return index is not None


@job("content.detect_site", retries=3, uses=("git",))
def detect_site(*, project_id: str, before: str | None, after: str, git: GitHosts) -> None:
    """Detect the generator of a commit. A value that a user has chosen stays."""
    project = db.session.get(Project, project_id)
    if project is None:
        return
    try:
        source = source_of(project, git)
        with transactions.outside_transaction():
            previous, present = (_site_of(source, commit) for commit in (before, after))
    except (UpstreamRejected, Disconnected, ReconnectRequired) as error:
        log.info("content.site_unreadable", project_id=project_id, error=str(error))
        return
    with transactions.locked_row(Project, project_id) as current:
        if current is not None:
            follow_site(current, previous, present)


def _site_of(source: Source, commit: str | None) -> SiteKind:
    """Return the kind of site of a commit. A commit that was removed from the branch may no longer exist."""
    with suppress(GitObjectMissing):
        if commit is not None:
            return site_detection.detect(source.repository, commit)
    return SiteKind(None, None)


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
    at_most = None if git.capabilities(project.provider).bulk_reads else max_blobs
    try:
        source = source_of(project, git, branch=index.branch)
        with long_runs.slot(project.organization_id) as is_free:
            is_complete = is_free and search_indexing.index_new_texts(index, source, at_most=at_most, progress=progress)
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
            search_indexing.enqueue(index, delay=PAUSE if is_free else SLOT_PAUSE)


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
    """Enqueue the packing of local repositories with many loose objects or packs. Remove files of killed processes.

    One repository is packed at a time.
    """
    if git.local is None:
        return
    for name in git.local.bundles.names():
        with suppress(DriverError):  # It was deleted since.
            repository = git.local.open(name)
            repository.remove_leftovers()
            if repository.needs_packing():
                with transactions.write_transaction():
                    jobs.enqueue("content.pack", unique=f"content.pack:{name}", lock="content.pack", repository=name)


@job("content.pack", retries=0, uses=("git",), priority=-5)
def pack_repository(*, repository: str, git: GitHosts) -> None:
    """Pack a local repository. If it fails, the next periodic job enqueues it again."""
    if git.local is None:
        return
    try:
        git.local.open(repository).repack()
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
        .where(Project.is_local, Project.status == ArchiveStatus.ACTIVE, Project.repository != "")
    ).all()
    moved = [index.id for index, project in rows if _is_behind(index, project, git)]
    for index_id in moved:
        indexing.enqueue_existing(index_id)


def _is_behind(index: ContentIndex, project: Project, git: GitHosts) -> bool:
    try:
        source = source_of(project, git)
        return indexes.is_behind(index, lambda: source.repository.head(source.branch))
    except DriverError as error:
        log.info("content.head_unreadable", project_id=project.id, error=str(error))
        return False
