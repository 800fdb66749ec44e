"""Cache of the repositories that tokens can write to."""

import hashlib
import threading
import time
from collections import OrderedDict

from app.drivers.errors import ReconnectRequired, UpstreamThrottled
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.port import RepoRef
from app.resources.git_provider.token_sources import OwnTokens, TokenRequest

WRITABLE_TTL_S, NOT_WRITABLE_TTL_S, MAX_ENTRIES = 120.0, 30.0, 4096


class WriteAccessCache:
    """Cache of the repositories that a token can write to."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, own: OwnTokens, target: TokenRequest) -> bool:
        """Return whether these tokens can write to the repository of the target."""
        try:
            token = own()
        except ReconnectRequired:
            return False
        key = hashlib.sha256(f"{token} {target.repository_id} {target.repository}".encode()).hexdigest()
        with self._lock:
            can_write, until = self._entries.get(key, (False, 0.0))
        if time.monotonic() < until:
            return can_write
        answer = self._has_write_access(own, target)
        if answer is not None:
            self._store(key, answer)
        return bool(answer)

    def _has_write_access(self, own: OwnTokens, target: TokenRequest) -> bool | None:
        """Read the repository from the host. Return None if the host throttles the token."""
        git = own.hosts.provider_for(target.provider, own)
        try:
            facts = git.repository(RepoRef(target.repository, target.repository_id))
        except (RepositoryUnavailable, ReconnectRequired):
            return False
        except UpstreamThrottled:
            return None
        return facts.writable and target.repository_id in (None, facts.id)

    def _store(self, key: str, answer: bool) -> None:
        with self._lock:
            self._entries[key] = answer, time.monotonic() + (WRITABLE_TTL_S if answer else NOT_WRITABLE_TTL_S)
            while len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)


write_access = WriteAccessCache()
"""Write access that this process has checked."""
