"""Sealing what is stored anew with the first key, row by row, while the service runs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import sqlalchemy as sa

from app.core.secrets import Keyring, TamperedSecret
from app.extensions import db
from app.models.git_credential import GitCredential, GitRevocation
from app.resources.git_provider import sealing

BATCH = 200

Table = type[GitCredential] | type[GitRevocation]


@dataclass
class Rekeyed:
    """How many rows were sealed anew, and which cannot be read."""

    rows: int = 0
    unreadable: list[str] = field(default_factory=list)


def rekey(ring: Keyring) -> Rekeyed:
    """Seal every secret that another key than the first has sealed.

    Each row is locked, changed and committed by itself, so that it may be stopped and started again, and a renewal of
    the same tokens waits or comes first.
    """
    told = Rekeyed()
    for table, fields in ((GitCredential, sealing.FIELDS), (GitRevocation, ("token",))):
        for row_id in _ids(table):
            try:
                told.rows += _rekey_row(table, row_id, fields, ring)
                db.session.commit()
            except TamperedSecret:
                db.session.rollback()
                told.unreadable.append(row_id)
    return told


def _ids(table: Table) -> Iterator[str]:
    after = ""
    while found := _some(table, after):
        yield from found
        after = found[-1]


def _some(table: Table, after: str) -> list[str]:
    found = list(db.session.scalars(sa.select(table.id).where(table.id > after).order_by(table.id).limit(BATCH)))
    db.session.commit()
    return found


def _rekey_row(table: Table, row_id: str, fields: tuple[str, ...], ring: Keyring) -> bool:
    """Whether there was anything to do. Raises TamperedSecret."""
    wanted = sa.select(table).where(table.id == row_id).with_for_update().execution_options(populate_existing=True)
    row, changed = db.session.scalar(wanted), False
    for name in fields if row is not None else ():
        stored = getattr(row, sealing.column(name))
        if stored and ring.needs_rotation(stored):
            aad = sealing.place(table.__tablename__, row_id, name)
            setattr(row, sealing.column(name), ring.encrypt(ring.decrypt(stored, aad=aad), aad=aad))
            changed = True
    return changed
