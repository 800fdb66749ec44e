"""Repositories that a user reaches at a provider, and creation of local repositories."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from app.core.cursors import decode_cursor, encode_cursor, paginate
from app.core.errors import Conflict, ErrorMessage
from app.core.ids import HasId
from app.core.permissions import Access
from app.database import transactions
from app.database.transactions import savepoint
from app.drivers.git.errors import RepositoryExists, RepositoryUnavailable
from app.drivers.git.hosts import GitHosts, LocalHost
from app.drivers.git.port import RepositoryFacts
from app.extensions import db
from app.models.git_credential import GitCredential
from app.models.organization import Membership, Organization
from app.models.project import LocalRepository, Provider
from app.resources.git_provider.provider_selection import token_refresher
from app.resources.git_provider.token_sources import OwnTokens

CURSOR = "repository"


def reachable(
    user: HasId, *, provider: Provider, search: str | None, cursor: str | None, limit: int, hosts: GitHosts
) -> tuple[Sequence[RepositoryFacts], dict[str, object]]:
    """Return one page of the repositories that a user reaches, with its meta. Only local lists have a total.

    Raises:
        RepositoryUnavailable: local repositories are disabled, or no account of the provider is connected.
        ReconnectRequired: the tokens of the account cannot be refreshed.
    """
    if not provider.is_local:
        return _remote(user, provider, hosts=hosts, search=search, cursor=cursor)
    return _local(user, host=local_host(hosts), search=search, cursor=cursor, limit=limit)


def make(organization: Organization, name: str, *, hosts: GitHosts, source: Path | None = None) -> RepositoryFacts:
    """Create `<organization id>/name` on disk with the files of a folder, by default with a README.

    Runs before the transaction because it takes long. `remove_unclaimed` removes it if the transaction does not follow.
    Without a source, a repository that a crash left without a row is
    reused.

    Raises:
        Conflict: the organization has a repository of this name.
        RepositoryUnavailable: local repositories are disabled.
    """
    full = f"{organization.id}/{name}"
    if db.session.get(LocalRepository, full) is not None:
        raise name_taken()
    host = local_host(hosts)
    with transactions.outside_transaction():
        try:
            if source is not None:
                return host.create(full, source=source, is_claimed=False)
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "README.md").write_text(f"# {name}\n")
                return host.create(full, source=Path(folder), is_claimed=False)
        except RepositoryExists as error:
            if source is not None:
                raise name_taken() from error
            return host.renew(full)


def record_owner(organization: Organization, repository: RepositoryFacts) -> RepositoryFacts:
    """Store the owner of a new repository.

    Raises:
        Conflict: another request created it at the same time.
    """
    with savepoint(name_taken, LocalRepository.name):
        db.session.add(LocalRepository(name=repository.full_name, organization_id=organization.id))
    return repository


def local_host(hosts: GitHosts) -> LocalHost:
    """Return the host of local repositories. Raises RepositoryUnavailable if it is disabled."""
    if hosts.local is None:
        raise RepositoryUnavailable(ErrorMessage("Local repositories are disabled on this installation"))
    return hosts.local


def _remote(
    user: HasId, provider: Provider, *, hosts: GitHosts, search: str | None, cursor: str | None
) -> tuple[Sequence[RepositoryFacts], dict[str, object]]:
    credential = db.session.scalar(
        sa.select(GitCredential).where(GitCredential.user_id == user.id, GitCredential.provider == provider)
    )
    if credential is None:
        raise RepositoryUnavailable(ErrorMessage("Connect an account of this provider first"))
    tokens, at = OwnTokens(token_refresher(hosts), credential.id), hosts.accounts(provider)
    after = decode_cursor(cursor, f"{CURSOR}.{provider}") if cursor else None
    with transactions.outside_transaction():
        page = at.repositories(tokens, credential.installation_id, search=search, cursor=after)
    following = encode_cursor(f"{CURSOR}.{provider}", page.cursor) if page.cursor else None
    return page.repositories, {"total": None, "next_cursor": following}


def _local(
    user: HasId, *, host: LocalHost, search: str | None, cursor: str | None, limit: int
) -> tuple[list[RepositoryFacts], dict[str, object]]:
    statement = (
        sa.select(LocalRepository.name)
        .join(Membership, Membership.organization_id == LocalRepository.organization_id)
        .where(Membership.user_id == user.id, Membership.access == Access.ALL)
    )
    if search:
        statement = statement.where(LocalRepository.name.icontains(search, autoescape=True))
    total = db.session.scalar(sa.select(sa.func.count()).select_from(statement.subquery()))
    if cursor:
        statement = statement.where(LocalRepository.name > decode_cursor(cursor, CURSOR))
    rows = db.session.scalars(statement.order_by(LocalRepository.name).limit(limit + 1)).all()
    names, following = paginate(rows, limit, CURSOR, str)
    with transactions.outside_transaction():
        repositories = [_facts(host, name) for name in names]
    return [repository for repository in repositories if repository is not None], {
        "total": total,
        "next_cursor": following,
    }


def _facts(host: LocalHost, name: str) -> RepositoryFacts | None:
    """Return the repository, or None if it was removed from the disk."""
    try:
        return host.open(name).facts()
    except RepositoryUnavailable:
        return None


def name_taken() -> Conflict:
    """Return the error for the name of an existing repository."""
    return Conflict(ErrorMessage("A repository of this name already exists"), code="NAME_TAKEN")
