"""Encryption of the tokens of credentials, and the encryption of stored secrets with a new first key, row by row.

Each secret is bound to its table, row and field.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from app.database import transactions
from app.drivers.errors import ReconnectRequired
from app.extensions import db
from app.models.git_credential import GitCredential, GitRevocation
from app.security.secrets import Keyring, SecretFields, TamperedSecret, associated_data

BATCH_SIZE = 200

ACCESS, REFRESH, INSTALLATION = "access_token", "refresh_token", "installation_token"
FIELDS = (ACCESS, REFRESH, INSTALLATION)
CREDENTIALS, REVOCATIONS = "git_credentials", "git_revocations"
SECRETS: tuple[SecretFields, ...] = ((GitCredential, FIELDS), (GitRevocation, ("token",)))


@dataclass
class RotationResult:
    """The number of changed rows and the ids of unreadable rows."""

    rows: int = 0
    unreadable: list[str] = field(default_factory=list)


def rekey(ring: Keyring, tables: Iterable[SecretFields] = SECRETS) -> RotationResult:
    """Encrypt every secret that another key than the first has encrypted.

    Each row has its own transaction, so the command can be interrupted and repeated. A parallel refresh waits.
    """
    result = RotationResult()
    for table, fields in tables:
        for row_id in _ids(table):
            try:
                with transactions.write_transaction():
                    result.rows += _rekey_row(table, row_id, fields, ring)
            except TamperedSecret:
                result.unreadable.append(row_id)
    return result


def _ids(table: Any) -> Iterator[str]:
    after, ids = "", sa.select(table.id).order_by(table.id).limit(BATCH_SIZE)
    while batch := list(db.session.scalars(ids.where(table.id > after))):
        yield from batch
        after = batch[-1]


def _rekey_row(table: Any, row_id: str, fields: tuple[str, ...], ring: Keyring) -> bool:
    """Encrypt the secrets of a row and return whether one changed.

    Raises:
        TamperedSecret: a secret cannot be decrypted.
    """
    statement = sa.select(table).where(table.id == row_id).with_for_update().execution_options(populate_existing=True)
    row, changed = db.session.scalar(statement), False
    for name in fields if row is not None else ():
        stored = getattr(row, column(name))
        if stored and ring.needs_rotation(stored):
            aad = associated_data(table.__tablename__, row_id, name)
            setattr(row, column(name), ring.encrypt(ring.decrypt(stored, aad=aad), aad=aad))
            changed = True
    return changed


def column(field: str) -> str:
    """Return the column of a secret."""
    return f"{field}_secret"


def encrypt_token(ring: Keyring, row_id: str, field: str, token: str | None) -> str | None:
    """Encrypt a token for its row and field in `git_credentials`."""
    return None if token is None else ring.encrypt(token, aad=associated_data(CREDENTIALS, row_id, field))


def decrypt_token(ring: Keyring, row_id: str, field: str, stored: str | None) -> str | None:
    """Decrypt a token.

    Raises:
        ReconnectRequired: the secret was changed or moved, or its key is missing.
    """
    if stored is None:
        return None
    try:
        return ring.decrypt(stored, aad=associated_data(CREDENTIALS, row_id, field))
    except TamperedSecret as broken:
        raise ReconnectRequired("The stored credential cannot be decrypted. Connect the account again") from broken
