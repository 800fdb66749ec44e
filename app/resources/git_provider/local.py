"""Whose the repositories of the `local` provider are: the organization that made one or first connected it (contract 4.6).

Any other organization is answered as if the repository did not exist.
"""

import sqlalchemy as sa

from app.drivers.git.port import RepositoryUnavailable
from app.extensions import db
from app.models.project import LocalRepository

HIDDEN = "There is no such repository"


def check_reachable(name: str, organization_id: str, *, connected: bool = False) -> None:
    """Make sure that the organization has the repository, or may still be the first to connect it.

    Raises:
        RepositoryUnavailable: it belongs to nobody here: to another organization, or to one that is gone. With
            `connected`, having it is the only way.
    """
    row = db.session.execute(
        sa.select(LocalRepository.organization_id).where(LocalRepository.name == name)
    ).one_or_none()
    if (row is None and connected) or (row is not None and row[0] != organization_id):
        raise RepositoryUnavailable(HIDDEN)


def claim(name: str, organization_id: str) -> None:
    """Make the repository the organization's, where it is nobody's yet.

    Raises:
        RepositoryUnavailable: somebody else was first.
    """
    try:
        with db.session.begin_nested():
            db.session.add(LocalRepository(name=name, organization_id=organization_id))
    except sa.exc.IntegrityError:
        check_reachable(name, organization_id)


def hand_over(name: str, organization_id: str) -> None:
    """Give a repository to an organization, whoever had it: it moves with its project, or an operator says so."""
    row = db.session.get(LocalRepository, name) or LocalRepository(name=name)
    row.organization_id = organization_id
    db.session.add(row)
    db.session.flush()
