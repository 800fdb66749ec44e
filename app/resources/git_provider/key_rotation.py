"""Encryption of stored secrets with a new first key, row by row, while the service runs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import sqlalchemy as sa

from app.extensions import db
from app.models.git_credential import GitCredential, GitRevocation
from app.resources.git_provider import token_encryption
from app.security.secrets import Keyring, TamperedSecret

BATCH_SIZE = 200

Table = type[GitCredential] | type[GitRevocation]


@dataclass
class RotationResult:
    """The number of changed rows and the ids of unreadable rows."""

    rows: int = 0
    unreadable: list[str] = field(default_factory=list)


def rekey(ring: Keyring) -> RotationResult:
    """Encrypt every secret that another key than the first has encrypted.

    Each row has its own transaction, so the command can be interrupted and repeated. A parallel refresh waits.
    """
    result = RotationResult()
    for table, fields in ((GitCredential, token_encryption.FIELDS), (GitRevocation, ("token",))):
        for row_id in _ids(table):
            try:
                result.rows += _rekey_row(table, row_id, fields, ring)
                db.session.commit()
            except TamperedSecret:
                db.session.rollback()
                result.unreadable.append(row_id)
    return result


def _ids(table: Table) -> Iterator[str]:
    after = ""
    while batch := _some(table, after):
        yield from batch
        after = batch[-1]


def _some(table: Table, after: str) -> list[str]:
    batch = list(db.session.scalars(sa.select(table.id).where(table.id > after).order_by(table.id).limit(BATCH_SIZE)))
    db.session.commit()
    return batch


def _rekey_row(table: Table, row_id: str, fields: tuple[str, ...], ring: Keyring) -> bool:
    """Encrypt the secrets of a row and return whether one changed.

    Raises:
        TamperedSecret: a secret cannot be decrypted.
    """
    statement = sa.select(table).where(table.id == row_id).with_for_update().execution_options(populate_existing=True)
    row, changed = db.session.scalar(statement), False
    for name in fields if row is not None else ():
        stored = getattr(row, token_encryption.column(name))
        if stored and ring.needs_rotation(stored):
            aad = token_encryption.associated_data(table.__tablename__, row_id, name)
            setattr(row, token_encryption.column(name), ring.encrypt(ring.decrypt(stored, aad=aad), aad=aad))
            changed = True
    return changed
