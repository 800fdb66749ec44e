"""Encryption of the tokens of credentials. Each secret is bound to its table, row and field."""

from app.drivers.errors import ReconnectRequired
from app.security.secrets import Keyring, TamperedSecret

ACCESS, REFRESH, INSTALLATION = "access_token", "refresh_token", "installation_token"
FIELDS = (ACCESS, REFRESH, INSTALLATION)
CREDENTIALS, REVOCATIONS = "git_credentials", "git_revocations"


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


def associated_data(table: str, row_id: str, field: str) -> str:
    """Return the associated data of a ciphertext."""
    return f"{table}:{row_id}:{field}"
