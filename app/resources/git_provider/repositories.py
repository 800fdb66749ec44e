"""The repositories a person can reach at a provider, and making one on this machine."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import sqlalchemy as sa

from app.core.cursors import decode_cursor, encode_cursor
from app.core.errors import Conflict
from app.core.limits import InputLimits
from app.drivers.errors import NeedsReconnect
from app.drivers.git.accounts import RepositoryPage
from app.drivers.git.hosts import GitHosts, LocalHost
from app.drivers.git.port import RepoRef, Repository, RepositoryExists, RepositoryUnavailable
from app.extensions import db
from app.models.git_credential import GitCredential
from app.models.organization import Membership, Organization
from app.models.project import LocalRepository, Provider
from app.models.user import User
from app.resources.git_provider.acting import OwnTokens
from app.resources.git_provider.service import keeper

CURSOR = "repository"
MAX_LIMIT = InputLimits().page_size_max


def reachable(
    user: User, *, provider: Provider, search: str | None, cursor: str | None, limit: int, hosts: GitHosts
) -> tuple[Sequence[Repository], dict[str, object]]:
    """One page of what the user reaches at a provider, and the list's meta; only of the local ones the total is known.

    Raises:
        RepositoryUnavailable: local repositories are switched off, or no account of the provider is connected.
        NeedsReconnect: the account's tokens cannot be renewed.
    """
    if provider != Provider.LOCAL:
        return _remote(user, provider, hosts=hosts, search=search, cursor=cursor)
    return _local(user, host=_host(hosts), search=search, cursor=cursor, limit=min(limit, MAX_LIMIT))


def make(organization: Organization, name: str, *, hosts: GitHosts) -> Repository:
    """Make `<organization's id>/name` on disk, with a first commit so that it can be connected.

    Takes long, so it runs before the transaction; what a crash left on disk without a row is taken up again.

    Raises:
        Conflict: the organization has a repository of that name.
        RepositoryUnavailable: local repositories are switched off.
    """
    full = f"{organization.id}/{name}"
    if db.session.get(LocalRepository, full) is not None:
        raise _taken()
    host = _host(hosts)
    try:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "README.md").write_text(f"# {name}\n")
            return host.create(full, source=Path(folder))
    except RepositoryExists:
        return host.repository(RepoRef(full))


def keep(organization: Organization, made: Repository) -> Repository:
    """Note whose the new repository is.

    Raises:
        Conflict: another request made it at the same time.
    """
    try:
        with db.session.begin_nested():
            db.session.add(LocalRepository(name=made.full_name, organization_id=organization.id))
    except sa.exc.IntegrityError as taken:
        raise _taken() from taken
    return made


def _host(hosts: GitHosts) -> LocalHost:
    if hosts.local is None:
        raise RepositoryUnavailable("Local repositories are switched off here")
    return hosts.local


def _remote(
    user: User, provider: Provider, *, hosts: GitHosts, search: str | None, cursor: str | None
) -> tuple[Sequence[Repository], dict[str, object]]:
    credential = db.session.scalar(
        sa.select(GitCredential).where(GitCredential.user_id == user.id, GitCredential.provider == provider)
    )
    if credential is None:
        raise RepositoryUnavailable("Connect an account of this provider first")
    tokens, at = OwnTokens(keeper(hosts), credential.id), hosts.accounts(provider)
    after = decode_cursor(cursor, f"{CURSOR}.{provider}") if cursor else None

    def page(token: str) -> RepositoryPage:
        return at.repositories(token, credential.installation_id, search=search, cursor=after)

    token = tokens()
    try:
        found = page(token)
    except NeedsReconnect:
        found = _again(tokens, tokens(token), page)
    following = encode_cursor(f"{CURSOR}.{provider}", found.cursor) if found.cursor else None
    return found.repositories, {"total": None, "next_cursor": following}


def _again(tokens: OwnTokens, renewed: str, page: Callable[[str], RepositoryPage]) -> RepositoryPage:
    """Ask with the renewed token; when it is refused as well, nobody tries again."""
    try:
        return page(renewed)
    except NeedsReconnect:
        tokens.refused(renewed)
        raise


def _local(
    user: User, *, host: LocalHost, search: str | None, cursor: str | None, limit: int
) -> tuple[list[Repository], dict[str, object]]:
    wanted = (
        sa.select(LocalRepository.name)
        .join(Membership, Membership.organization_id == LocalRepository.organization_id)
        .where(Membership.user_id == user.id)
    )
    if search:
        wanted = wanted.where(LocalRepository.name.icontains(search, autoescape=True))
    total = db.session.scalar(sa.select(sa.func.count()).select_from(wanted.subquery()))
    if cursor:
        wanted = wanted.where(LocalRepository.name > decode_cursor(cursor, CURSOR))
    names = db.session.scalars(wanted.order_by(LocalRepository.name).limit(limit + 1)).all()
    following = encode_cursor(CURSOR, names[limit - 1]) if len(names) > limit else None
    found = (_facts(host, name) for name in names[:limit])
    return [one for one in found if one is not None], {"total": total, "next_cursor": following}


def _facts(host: LocalHost, name: str) -> Repository | None:
    """None for a repository that somebody took from the disk."""
    try:
        return host.repository(RepoRef(name))
    except RepositoryUnavailable:
        return None


def _taken() -> Conflict:
    return Conflict("There is already a repository of this name", code="NAME_TAKEN")
