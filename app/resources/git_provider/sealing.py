"""Where each secret of a credential is bound to (`table:row:field`); knows the places, not the keys."""

from app.core.secrets import Keyring, TamperedSecret
from app.drivers.errors import NeedsReconnect

ACCESS, REFRESH, INSTALLATION = "access_token", "refresh_token", "installation_token"
FIELDS = (ACCESS, REFRESH, INSTALLATION)
CREDENTIALS, REVOCATIONS = "git_credentials", "git_revocations"


def column(field: str) -> str:
    """The column that holds a secret."""
    return f"{field}_secret"


def seal(ring: Keyring, row_id: str, field: str, token: str | None) -> str | None:
    """Encrypt a token for its place in `git_credentials`."""
    return None if token is None else ring.encrypt(token, aad=place(CREDENTIALS, row_id, field))


def unseal(ring: Keyring, row_id: str, field: str, stored: str | None) -> str | None:
    """Read a token back.

    Raises:
        NeedsReconnect: it was changed, moved to another row or field, or its key is gone.
    """
    if stored is None:
        return None
    try:
        return ring.decrypt(stored, aad=place(CREDENTIALS, row_id, field))
    except TamperedSecret as broken:
        raise NeedsReconnect("The stored credential cannot be read any more; connect the account again") from broken


def place(table: str, row_id: str, field: str) -> str:
    """The place as it is authenticated with the ciphertext."""
    return f"{table}:{row_id}:{field}"
