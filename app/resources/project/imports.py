"""Imports: clones of public repositories that become local repositories and projects of an organization."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import sqlalchemy as sa

from app.core.errors import AppError, Conflict, ErrorMessage, InvalidRequest, PermissionDenied
from app.core.limits import Limits
from app.core.permissions import Permission, grants
from app.core.urls import parse_clone_url
from app.database import transactions
from app.database.transactions import savepoint
from app.drivers.errors import DriverError, UpstreamRejected, UpstreamThrottled, UpstreamUnavailable
from app.drivers.git.errors import RepositoryExists
from app.drivers.git.hosts import GitHosts, LocalHost
from app.drivers.git.port import RepositoryFacts
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.organization import Membership, Organization
from app.models.project import ImportStatus, LocalRepository, Project, RepositoryImport
from app.models.user import User
from app.resources.git_provider.repositories import local_host, name_taken
from app.resources.project import service
from app.resources.project.repository_access import ReachableBranch, default_branch, detect_site, verify_access
from app.resources.project.site_detection import SiteKind
from app.resources.user.creation_limits import limits_of

MAX_OPEN = 3
"""Imports of an organization that are not finished."""

MAX_SHOWN = 10
REPORT_INTERVAL_S = 2.0
RETRIED_FOR, TEMPORARY = timedelta(hours=1), (502, 503, 504)
"""Time during which temporary failures are repeated, and their statuses."""

OPEN = (ImportStatus.WAITING, ImportStatus.RUNNING)


def request_import(
    organization: Organization,
    by: User,
    *,
    url: str,
    name: str,
    project_name: str,
    hosts: Sequence[str],
    limits: Limits,
) -> RepositoryImport:
    """Store an import and enqueue its job. The name of the repository is taken at once.

    Raises:
        InvalidRequest: the URL must not be cloned.
        Conflict: the organization has a project or repository of this name, or too many open imports.
        LimitReached: the organization or its owner has the maximum number of active projects.
    """
    if parse_clone_url(url, hosts) is None:
        raise InvalidRequest.field(
            "clone_url", ErrorMessage("The URL of a repository starts with https:// and has no password")
        )
    service.check_creation(organization, project_name, limits=limits)
    # Parallel requests would count the same imports.
    db.session.execute(
        sa.select(Organization.id).where(Organization.id == organization.id).with_for_update(key_share=True)
    )
    statement = sa.select(sa.func.count()).where(
        RepositoryImport.organization_id == organization.id, RepositoryImport.status.in_(OPEN)
    )
    if (db.session.scalar(statement) or 0) >= MAX_OPEN:
        raise Conflict(
            ErrorMessage("Other repositories of the organization are still being cloned"), code="IMPORTS_RUNNING"
        )
    repository = f"{organization.id}/{name}"
    with savepoint(name_taken, LocalRepository.name):
        db.session.add(LocalRepository(name=repository, organization_id=organization.id))
    row = RepositoryImport(
        organization_id=organization.id, user_id=by.id, url=url, repository=repository, project_name=project_name
    )
    db.session.add(row)
    db.session.flush()
    enqueue(row)
    return row


def enqueue(row: RepositoryImport, delay: timedelta = timedelta(0)) -> None:
    """Enqueue an import. Those of one organization run one after another."""
    jobs.enqueue("project.import", delay=delay, lock=f"project.import:{row.organization_id}", import_id=row.id)


def latest(organization: Organization) -> Sequence[RepositoryImport]:
    """Return the newest imports of an organization that have no project."""
    statement = (
        sa.select(RepositoryImport)
        .where(RepositoryImport.organization_id == organization.id, RepositoryImport.status != ImportStatus.CONNECTED)
        .order_by(RepositoryImport.id.desc())
        .limit(MAX_SHOWN)
    )
    return db.session.scalars(statement).all()


def find(organization: Organization, import_id: str) -> RepositoryImport | None:
    """Return an import of an organization."""
    row = db.session.get(RepositoryImport, import_id)
    return row if row is not None and row.organization_id == organization.id else None


def run(row: RepositoryImport, *, hosts: GitHosts) -> None:
    """Clone the repository and connect it as a project. A repeated run continues where the previous one ended.

    Raises:
        AppError, DriverError: a temporary failure. The job repeats the run.
    """
    import_id, name, url, created_at = row.id, row.repository, row.url, row.created_at
    _set(import_id, status=ImportStatus.RUNNING)
    try:
        host = local_host(hosts)
        repository = _clone(host, name, url, _reporter(import_id))
        _connect(import_id, repository, hosts)
    except (AppError, DriverError) as error:
        if _is_temporary(error) and utcnow_ms() - created_at < RETRIED_FOR:
            _set(import_id, status=ImportStatus.WAITING, problem=getattr(error, "code", None), problem_text=str(error))
            raise
        fail(import_id, name, error, hosts)


def _is_temporary(error: AppError | DriverError) -> bool:
    if isinstance(error, AppError):
        return error.status in TEMPORARY
    return isinstance(error, UpstreamUnavailable | UpstreamThrottled)


def _clone(host: LocalHost, name: str, url: str, watch: Callable[[int], None]) -> RepositoryFacts:
    try:
        return host.clone(name, url, watch=watch)
    except RepositoryExists:  # by an earlier run of this job
        return host.open(name).facts()


def _connect(import_id: str, repository: RepositoryFacts, hosts: GitHosts) -> None:
    row = db.session.get_one(RepositoryImport, import_id)
    user = db.session.get_one(User, row.user_id)
    reached = verify_access(default_branch(repository), row.organization_id, hosts=hosts, user=user)
    kind = detect_site(reached, framework=None, generator=None)
    with transactions.write_transaction():
        row = db.session.get_one(RepositoryImport, import_id, populate_existing=True)
        project = _create_project(row, reached, kind)
        row.status, row.project_id, row.updated_at = ImportStatus.CONNECTED, project.id, utcnow_ms()


def _create_project(row: RepositoryImport, reached: ReachableBranch, kind: SiteKind) -> Project:
    """Create the project with the rights that the user has now.

    Raises:
        PermissionDenied: the user may no longer create projects in the organization.
    """
    organization = db.session.get_one(Organization, row.organization_id)
    user = db.session.get_one(User, row.user_id)
    role = db.session.scalar(
        sa.select(Membership.role).where(Membership.organization_id == organization.id, Membership.user_id == user.id)
    )
    if not grants(role, Permission.MANAGE_PROJECTS):
        raise PermissionDenied
    values = {"name": row.project_name, "framework": kind.framework, "generator": kind.generator}
    return service.create(organization, values, reached, by=user, limits=limits_of(organization.owner_id))


def _reporter(import_id: str) -> Callable[[int], None]:
    """Return a function that stores the received bytes, and ends the clone if the import was deleted."""
    stored_at = time.monotonic()

    def report(received: int) -> None:
        nonlocal stored_at
        if time.monotonic() - stored_at < REPORT_INTERVAL_S:
            return
        stored_at = time.monotonic()
        if not _set(import_id, received_bytes=received):
            raise UpstreamRejected("The import was deleted")

    return report


def _set(import_id: str, **values: object) -> bool:
    """Change an import in its own transaction. Return False if it was deleted."""
    with transactions.write_transaction():
        row = db.session.get(RepositoryImport, import_id)
        if row is not None:
            for column, value in values.items():
                setattr(row, column, value)
    return row is not None


def fail(import_id: str, name: str, error: AppError | DriverError | None, hosts: GitHosts) -> None:
    """Store the reason of a failure and remove the repository. Its name is free again.

    The repository stays if a project uses it.
    """
    row = db.session.get(RepositoryImport, import_id, populate_existing=True)
    users = sa.select(Project.id).where(Project.is_local, Project.repository == name)
    is_removed = db.session.scalar(users.limit(1)) is None and (row is None or row.status in OPEN)
    if is_removed:
        with transactions.outside_transaction():
            local_host(hosts).remove(name)
        with transactions.write_transaction():
            db.session.execute(sa.delete(LocalRepository).where(LocalRepository.name == name))
    problem = "INTERNAL" if error is None else getattr(error, "code", None)
    _set(import_id, status=ImportStatus.FAILED, problem=problem, problem_text=None if error is None else str(error))
