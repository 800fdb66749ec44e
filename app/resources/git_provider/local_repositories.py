"""Owners of local repositories: the organization that created or first connected a repository (contract 4.6).

For every other organization the repository does not exist.
"""

import sqlalchemy as sa

from app.drivers.git.errors import RepositoryUnavailable
from app.extensions import db
from app.models.project import LocalRepository

HIDDEN = "The repository does not exist"


def check_reachable(name: str, organization_id: str, *, connected: bool = False) -> None:
    """Check that the organization owns the repository or, without `connected`, may be the first to connect it.

    Raises:
        RepositoryUnavailable: the repository belongs to another or to a deleted organization.
    """
    row = db.session.execute(
        sa.select(LocalRepository.organization_id).where(LocalRepository.name == name)
    ).one_or_none()
    if (row is None and connected) or (row is not None and row[0] != organization_id):
        raise RepositoryUnavailable(HIDDEN)


def claim(name: str, organization_id: str) -> None:
    """Assign an unowned repository to the organization.

    Raises:
        RepositoryUnavailable: another organization owns it.
    """
    try:
        with db.session.begin_nested():
            db.session.add(LocalRepository(name=name, organization_id=organization_id))
    except sa.exc.IntegrityError:
        check_reachable(name, organization_id)


def assign(name: str, organization_id: str) -> None:
    """Assign a repository to an organization, also if another one owns it."""
    row = db.session.get(LocalRepository, name) or LocalRepository(name=name)
    row.organization_id = organization_id
    db.session.add(row)
    db.session.flush()
