"""Access tokens of stored credentials. Refreshes them before they expire and marks rejected credentials. Thread-safe.

Many callers in many processes cause one request to the host: the caller that gets the lease of the row refreshes, and
the others wait for the next generation of the row. A new pair is written before it is used. If a process ends between
the response of the host and the write, the lease expires, the old pair is tried, and the host refuses it.
"""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from weakref import WeakValueDictionary

import sqlalchemy as sa

from app.core import clock
from app.core.errors import ServiceUnavailable
from app.core.retry import RetryOptions, retry
from app.database.errors import is_transient
from app.drivers.errors import ReconnectRequired, UpstreamTimeout
from app.drivers.git.accounts import TokenSet
from app.drivers.git.hosts import GitHosts
from app.drivers.git.rest.tokens import REJECTED, seconds_since
from app.models.base import utcnow_ms
from app.models.git_credential import GitCredential
from app.resources.git_provider import token_encryption
from app.resources.git_provider.credentials import token_columns
from app.resources.git_provider.stored_credentials import StoredCredentials

LEASE = timedelta(seconds=45)  # longer than an outbound call and the write after it may take
WAIT_S, POLL_INTERVAL_S = 25.0, 0.05
STORE_RETRIES = RetryOptions(
    lambda failure: isinstance(failure, ServiceUnavailable) or is_transient(failure), attempts=6, deadline_s=10
)
REFRESH_MARGIN = timedelta(seconds=60)
REFRESH_COLUMNS = (token_encryption.column(token_encryption.REFRESH), "refresh_token_expires_at", "refresh_hash")


class _RefreshLock:
    """A lock that is removed from `_locks` when no thread refers to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_locks: "WeakValueDictionary[str, _RefreshLock]" = WeakValueDictionary()
_locks_guard = threading.Lock()


@dataclass(frozen=True)
class TokenRefresher(StoredCredentials):
    """Reader and refresher of the stored tokens. May be passed to any thread.

    `recovering` methods also use a credential that is marked as rejected.
    """

    hosts: GitHosts
    wait_s: float = WAIT_S

    def token(self, credential_id: str, rejected: str | None = None, *, recovering: bool = False) -> str:
        """Return the current token of the user. Refresh it if it expires or if the host `rejected` it.

        Raises:
            ReconnectRequired: the token cannot be refreshed. The credential and its projects are marked.
            UpstreamTimeout: another process is still refreshing the token.
        """
        row = self.find(credential_id, recovering=recovering)
        current = self._decrypt(row, token_encryption.ACCESS)
        if current is not None and current != rejected and not _expires_soon(row):
            return current
        if row.refresh_token_secret is None:
            if current is None or current == rejected or _has_expired(row):
                self.mark_needs_reconnect(row)
                raise ReconnectRequired(REJECTED)
            return current
        return self._decrypt(self.renew(row, recovering=recovering), token_encryption.ACCESS) or ""

    def age_s(self, credential_id: str, token: str) -> float:
        """Return the seconds since a token was stored, or infinity if it is not the current one.

        Other changes of the row count as well, so the result is a lower bound.
        """
        row = self._current_row_with(credential_id, token)
        return math.inf if row is None else seconds_since(row.updated_at)

    def renew(self, previous: GitCredential, *, installation: bool = False, recovering: bool = False) -> GitCredential:
        """Refresh the tokens of the generation `previous` unless that has happened. Return the current row."""
        with _refresh_lock(previous.id):
            until = time.monotonic() + self.wait_s
            while True:
                row = self.find(previous.id, recovering=recovering)
                if row.generation != previous.generation:
                    return row
                if self._acquire_lease(row):
                    return self._renew(row, installation=installation)
                if time.monotonic() > until:
                    raise UpstreamTimeout("The tokens of this account are being refreshed. Try again shortly")
                time.sleep(POLL_INTERVAL_S)

    def _renew(self, row: GitCredential, *, installation: bool) -> GitCredential:
        """Refresh as the holder of the lease. The new pair is written before the next call to the host."""
        now = utcnow_ms()
        release: dict[str, object] = {"refreshing_until": None, "generation": row.generation + 1}
        with ExitStack() as on_failure:
            on_failure.callback(self._write, row, {"refreshing_until": None})
            try:
                tokens = self._fetch_tokens(row)
                if tokens is not None:
                    self._store(row, self._pair(row, tokens) | {"last_refreshed_at": now, "updated_at": now})
                if installation:
                    release |= self._fetch_installation_token(row)
            except ReconnectRequired:
                self.mark_needs_reconnect(row)
                raise
            on_failure.pop_all()
        self._store(row, release)
        return self.find(row.id, recovering=True)

    def _fetch_tokens(self, row: GitCredential) -> TokenSet | None:
        refresh_token = self._decrypt(row, token_encryption.REFRESH)
        if refresh_token is None:
            return None
        return self.hosts.app(row.provider).refresh(refresh_token)

    def _pair(self, row: GitCredential, tokens: TokenSet) -> dict[str, object]:
        """Return the columns of a new pair. The refresh token stays if the host did not replace it."""
        unchanged = () if tokens.refresh_token else (*REFRESH_COLUMNS, "previous_refresh_hashes")
        excluded = (*unchanged, "generation", "refreshing_until", "status")
        columns = token_columns(row, tokens, ring=self.keyring)
        return {name: value for name, value in columns.items() if name not in excluded}

    def _fetch_installation_token(self, row: GitCredential) -> dict[str, object]:
        if row.installation_id is None:
            return {}
        app, _ = self.hosts.installations(row.provider)
        issued, now = app.installation_token(row.installation_id, fresh=True), utcnow_ms()
        return {
            token_encryption.column(token_encryption.INSTALLATION): token_encryption.encrypt_token(
                self.keyring, row.id, token_encryption.INSTALLATION, issued.token
            ),
            "installation_token_expires_at": issued.expires_at,
            "last_refreshed_at": now,
            "updated_at": now,
        }

    def _acquire_lease(self, row: GitCredential) -> bool:
        now = utcnow_ms()
        free = sa.or_(GitCredential.refreshing_until.is_(None), GitCredential.refreshing_until < now)
        return self._write(row, {"refreshing_until": now + LEASE}, free)

    def _store(self, row: GitCredential, values: dict[str, object]) -> None:
        """Write what the host issued. Repeats the write, because the host does not issue it again."""
        retry(lambda: self._write(row, values), STORE_RETRIES)

    def _write(self, row: GitCredential, values: dict[str, object], *where: sa.ColumnElement[bool]) -> bool:
        with self.side.write() as connection:
            written = connection.execute(
                sa.update(GitCredential)
                .where(GitCredential.id == row.id, GitCredential.generation == row.generation, *where)
                .values(**values)
            )
        return bool(written.rowcount)


@contextmanager
def _refresh_lock(credential_id: str) -> Iterator[None]:
    """Admit one thread of the process at a time, so that only one thread of a process polls the database."""
    with _locks_guard:
        entry = _locks.get(credential_id)
        if entry is None:
            entry = _locks[credential_id] = _RefreshLock()
    with entry.lock:
        yield


def _expires_soon(row: GitCredential) -> bool:
    return row.access_token_expires_at is not None and row.access_token_expires_at - clock.now() < REFRESH_MARGIN


def _has_expired(row: GitCredential) -> bool:
    return row.access_token_expires_at is not None and row.access_token_expires_at <= clock.now()
