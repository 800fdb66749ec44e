"""Tokens that are fit to use: read, renewed when they end, and given up when the host refuses; for any thread.

However many ask at once, in however many processes, the host is asked once: whoever gets the row's lease renews, the
others wait for the row's next generation. A new pair is written before anybody uses it. When a process dies between the
host's answer and that write, the lease runs out, the old pair is tried, and the host's refusal is told as what it is.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from weakref import WeakValueDictionary

import sqlalchemy as sa
import structlog

from app.core import clock
from app.core.database import Aside
from app.core.secrets import Keyring
from app.drivers.errors import Late, NeedsReconnect
from app.drivers.git.accounts import Tokens
from app.drivers.git.hosts import GitHosts
from app.models.base import moment
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.project import ConnectionStatus, Project, Provider
from app.resources.git_provider import sealing
from app.resources.git_provider.credentials import token_columns

log = structlog.get_logger(__name__)

LEASE = timedelta(seconds=45)  # longer than an outbound call may take
WAIT_S, POLL_S = 25.0, 0.05
EARLY = timedelta(seconds=60)
REFRESH_COLUMNS = (sealing.column(sealing.REFRESH), "refresh_token_expires_at", "refresh_hash")
GONE = "Connect an account of this provider first"
ENDED = "The Git host no longer takes this account's credential; connect it again"


class _Turn:
    """A lock that goes when nobody holds on to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_turns: "WeakValueDictionary[str, _Turn]" = WeakValueDictionary()
_turns_lock = threading.Lock()


@dataclass(frozen=True)
class Keeper:
    """The credentials' rows, the keys and the hosts; may be carried into any thread."""

    aside: Aside
    ring: Keyring
    hosts: GitHosts

    def find(self, credential_id: str) -> GitCredential:
        """The row as it is now, belonging to no session.

        Raises:
            NeedsReconnect: it is gone, or was given up.
        """
        with self.aside.reading() as connection:
            found = connection.execute(sa.select(GitCredential.__table__).where(GitCredential.id == credential_id))
            row = found.mappings().one_or_none()
        if row is None:
            raise NeedsReconnect(GONE)
        if row["status"] != CredentialStatus.ACTIVE:
            raise NeedsReconnect(ENDED)
        return GitCredential(**row)

    def token(self, credential_id: str, rejected: str | None = None) -> str:
        """The user's present token, renewed where it ends or the host has just `rejected` it.

        Raises:
            NeedsReconnect: it cannot be renewed; the credential and what hangs on it are marked.
            Late: another process has been renewing it for too long.
        """
        row = self.find(credential_id)
        held = self._open(row, sealing.ACCESS)
        if held is not None and held != rejected and not _is_ending(row):
            return held
        if row.refresh_token_secret is None:
            if held is None or held == rejected or _is_over(row):
                self.give_up(row)
                raise NeedsReconnect(ENDED)
            return held
        return self._open(self.renew(row), sealing.ACCESS) or ""

    def renew(self, seen: GitCredential, *, installation: bool = False) -> GitCredential:
        """Renew the tokens of the generation that was `seen`, unless somebody has done so since; the row after it."""
        with _turn(seen.id):
            until = time.monotonic() + WAIT_S
            while True:
                row = self.find(seen.id)
                if row.generation != seen.generation:
                    return row
                if self._take(row):
                    return self._renew(row, installation=installation)
                if time.monotonic() > until:
                    raise Late("This account's tokens are being renewed; try again shortly")
                time.sleep(POLL_S)

    def give_up(self, row: GitCredential) -> None:
        """Mark a generation that the host does not take, and the projects that act with it."""
        with self.aside.writing() as connection:
            marked = connection.execute(
                sa.update(GitCredential)
                .where(GitCredential.id == row.id, GitCredential.generation == row.generation)
                .values(status=CredentialStatus.NEEDS_RECONNECT, refreshing_until=None, updated_at=moment())
            )
            if marked.rowcount:
                connection.execute(
                    sa.update(Project)
                    .where(
                        Project.connected_by == row.user_id,
                        Project.provider == row.provider,
                        Project.installation_id.is_(None),
                    )
                    .values(connection_status=ConnectionStatus.NEEDS_RECONNECT)
                )
        log.info("git_credential.needs_reconnect", credential_id=row.id, provider=row.provider)

    def refuse(self, credential_id: str, token: str) -> None:
        """Note that the host refused a token that was renewed a moment ago: another renewal would not help."""
        try:
            row = self.find(credential_id)
        except NeedsReconnect:
            return
        if self._open(row, sealing.ACCESS) == token:
            self.give_up(row)

    def lose_project(self, project_id: str) -> None:
        """Mark a project that nobody's credential acts on any more."""
        with self.aside.writing() as connection:
            connection.execute(
                sa.update(Project)
                .where(Project.id == project_id)
                .values(connection_status=ConnectionStatus.NEEDS_RECONNECT)
            )

    def _renew(self, row: GitCredential, *, installation: bool) -> GitCredential:
        """Renew as the holder of the lease; the new pair is written before anything else is asked for."""
        now = moment()
        done: dict[str, object] = {"refreshing_until": None, "generation": row.generation + 1}
        try:
            tokens = self._fresh_tokens(row)
            if tokens is not None:
                self._write(row, self._pair(row, tokens) | {"last_refreshed_at": now, "updated_at": now})
            if installation:
                done |= self._fresh_installation(row)
        except NeedsReconnect:
            self.give_up(row)
            raise
        except BaseException:
            self._write(row, {"refreshing_until": None})
            raise
        self._write(row, done)
        return self.find(row.id)

    def _fresh_tokens(self, row: GitCredential) -> Tokens | None:
        held = self._open(row, sealing.REFRESH)
        if held is None:
            return None
        app = self.hosts.github[0] if row.provider == Provider.GITHUB else self.hosts.gitlab[0]
        return app.refresh(held)

    def _pair(self, row: GitCredential, tokens: Tokens) -> dict[str, object]:
        """The columns of a renewed pair; a refresh token that the host did not renew goes on."""
        kept = () if tokens.refresh_token else (*REFRESH_COLUMNS, "previous_refresh_hashes")
        columns = token_columns(row, tokens, ring=self.ring)
        return {name: value for name, value in columns.items() if name not in (*kept, "generation", "refreshing_until")}

    def _fresh_installation(self, row: GitCredential) -> dict[str, object]:
        if row.installation_id is None or row.provider != Provider.GITHUB:
            return {}
        fresh, now = self.hosts.github[0].installation_token(row.installation_id, fresh=True), moment()
        return {
            sealing.column(sealing.INSTALLATION): sealing.seal(self.ring, row.id, sealing.INSTALLATION, fresh.token),
            "installation_token_expires_at": fresh.expires_at,
            "last_refreshed_at": now,
            "updated_at": now,
        }

    def _take(self, row: GitCredential) -> bool:
        now = moment()
        free = sa.or_(GitCredential.refreshing_until.is_(None), GitCredential.refreshing_until < now)
        return self._write(row, {"refreshing_until": now + LEASE}, free)

    def _write(self, row: GitCredential, values: dict[str, object], *where: sa.ColumnElement[bool]) -> bool:
        with self.aside.writing() as connection:
            written = connection.execute(
                sa.update(GitCredential)
                .where(GitCredential.id == row.id, GitCredential.generation == row.generation, *where)
                .values(**values)
            )
        return bool(written.rowcount)

    def _open(self, row: GitCredential, field: str) -> str | None:
        return sealing.unseal(self.ring, row.id, field, getattr(row, sealing.column(field)))


@contextmanager
def _turn(credential_id: str) -> Iterator[None]:
    """One thread of a process at a time, so that of all who wait only one a process asks the database."""
    with _turns_lock:
        turn = _turns.get(credential_id)
        if turn is None:
            turn = _turns[credential_id] = _Turn()
    with turn.lock:
        yield


def _is_ending(row: GitCredential) -> bool:
    return row.access_token_expires_at is not None and row.access_token_expires_at - clock.now() < EARLY


def _is_over(row: GitCredential) -> bool:
    return row.access_token_expires_at is not None and row.access_token_expires_at <= clock.now()
