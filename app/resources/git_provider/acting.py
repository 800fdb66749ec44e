"""Whose token acts on a project (contract 4.13): found when the first call is made, in whatever thread that is.

The caller's own credential, where it may write to the repository; otherwise the project's connection: the app's
installation, limited to this repository, or the credential of the member who connected it.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import sqlalchemy as sa

from app.drivers.errors import NeedsReconnect, Throttled
from app.drivers.git.port import RepoRef, RepositoryUnavailable
from app.models.git_credential import CredentialStatus, GitCredential
from app.models.organization import Membership
from app.models.project import ConnectionStatus, Project
from app.resources.git_provider.keeping import Keeper

REACHED_S, MISSED_S, KNOWN = 120.0, 30.0, 4096
LOST = "The connection to this repository no longer works; an owner or admin has to connect it again"


@dataclass(frozen=True)
class Target:
    """The repository of a project, and who wants to act on it."""

    project_id: str
    provider: str
    repository: str
    repository_id: str | None
    actor_id: str | None


class OwnTokens:
    """One person's credential."""

    def __init__(self, keeper: Keeper, credential_id: str) -> None:
        self._keeper, self._credential_id, self.hosts = keeper, credential_id, keeper.hosts

    def __call__(self, rejected: str | None = None) -> str:
        """The person's token."""
        return self._keeper.token(self._credential_id, rejected)

    def refused(self, token: str) -> None:
        """Not even the renewed token was taken."""
        self._keeper.refuse(self._credential_id, token)


class InstallationTokens:
    """The app's tokens for one repository of an installation."""

    def __init__(self, keeper: Keeper, target: Target, installation_id: str) -> None:
        self._keeper, self._target, self._installation_id = keeper, target, installation_id

    def __call__(self, rejected: str | None = None) -> str:
        """A token that reaches the project's repository and nothing else."""
        app, repository = self._keeper.hosts.github[0], self._target.repository
        try:
            fresh = rejected is not None
            return app.installation_token(self._installation_id, repository=repository, fresh=fresh).token
        except NeedsReconnect:
            self._keeper.lose_project(self._target.project_id)
            raise

    def refused(self, token: str) -> None:
        """Not even a fresh token was taken."""
        self._keeper.lose_project(self._target.project_id)


class ProjectTokens:
    """The tokens of whoever acts on a project; a caller whose own credential ends is followed by the connection."""

    def __init__(self, keeper: Keeper, target: Target, reaches: "Reach") -> None:
        self._keeper, self._target, self._reaches = keeper, target, reaches
        self._lock = threading.Lock()
        self._own: OwnTokens | None = None
        self._chosen: OwnTokens | InstallationTokens | None = None

    def __call__(self, rejected: str | None = None) -> str:
        """The present token."""
        with self._lock:
            if self._chosen is None:
                self._own = self._callers_own()
                self._chosen = self._own or self._connection()
            try:
                return self._chosen(rejected)
            except NeedsReconnect:
                if self._chosen is not self._own:
                    raise
            self._chosen = self._connection()
            return self._chosen()

    def refused(self, token: str) -> None:
        """Not even the renewed token was taken."""
        if self._chosen is not None:
            self._chosen.refused(token)

    def _callers_own(self) -> OwnTokens | None:
        if self._target.actor_id is None:
            return None
        wanted = sa.select(GitCredential.id).where(
            GitCredential.user_id == self._target.actor_id,
            GitCredential.provider == self._target.provider,
            GitCredential.status == CredentialStatus.ACTIVE,
        )
        with self._keeper.aside.reading() as connection:
            credential_id = connection.scalar(wanted)
        if credential_id is None:
            return None
        own = OwnTokens(self._keeper, credential_id)
        return own if self._reaches(own, self._target) else None

    def _connection(self) -> OwnTokens | InstallationTokens:
        row = self._connected()
        if row is None or row.connection_status != ConnectionStatus.ACTIVE:
            raise NeedsReconnect(LOST)
        if row.installation_id is not None:
            return InstallationTokens(self._keeper, self._target, row.installation_id)
        if row.credential_id is None:
            self._keeper.lose_project(self._target.project_id)
            raise NeedsReconnect(LOST)
        return OwnTokens(self._keeper, row.credential_id)

    def _connected(self) -> "sa.Row[ConnectionStatus, str | None, str] | None":
        """The connection, with the connecting member's credential as long as they are a member."""
        wanted = (
            sa.select(Project.connection_status, Project.installation_id, GitCredential.id.label("credential_id"))
            .outerjoin(
                Membership,
                sa.and_(
                    Membership.organization_id == Project.organization_id, Membership.user_id == Project.connected_by
                ),
            )
            .outerjoin(
                GitCredential,
                sa.and_(
                    GitCredential.user_id == Membership.user_id,
                    GitCredential.provider == Project.provider,
                    GitCredential.status == CredentialStatus.ACTIVE,
                ),
            )
            .where(
                Project.id == self._target.project_id,
                Project.provider == self._target.provider,
                Project.repository == self._target.repository,
            )
        )
        with self._keeper.aside.reading() as connection:
            return connection.execute(wanted).one_or_none()


class Reach:
    """Whether a token may write to a repository: asked of the host, and known for a while."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, own: OwnTokens, target: Target) -> bool:
        """Whether these tokens write to the very repository of the target."""
        try:
            token = own()
        except NeedsReconnect:
            return False
        key = hashlib.sha256(f"{token} {target.repository_id} {target.repository}".encode()).hexdigest()
        with self._lock:
            found, until = self._known.get(key, (False, 0.0))
        if time.monotonic() < until:
            return found
        answer = self._ask(own, target)
        if answer is not None:
            self._keep(key, answer)
        return bool(answer)

    def _ask(self, own: OwnTokens, target: Target) -> bool | None:
        """None where the host does not say it now."""
        git = own.hosts.acting(target.provider, own)
        try:
            facts = git.repository(RepoRef(target.repository, target.repository_id))
        except (RepositoryUnavailable, NeedsReconnect):
            return False
        except Throttled:
            return None
        return facts.writable and target.repository_id in (None, facts.id)

    def _keep(self, key: str, answer: bool) -> None:
        with self._lock:
            self._known[key] = answer, time.monotonic() + (REACHED_S if answer else MISSED_S)
            while len(self._known) > KNOWN:
                self._known.popitem(last=False)


reach = Reach()
"""What this process knows."""
