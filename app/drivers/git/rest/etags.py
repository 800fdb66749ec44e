"""Cached responses for conditional requests. An unchanged response does not count in GitHub's rate limit."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from app.drivers.http.client import HttpResponse

MAX_ENTRIES = 512
MAX_BYTES = 64 * 1024


@dataclass
class EtagCache:
    """The newest responses by URL and credential. A response is returned only to the credential that fetched it."""

    _entries: "OrderedDict[str, tuple[str, HttpResponse]]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key: str) -> tuple[str, HttpResponse] | None:
        """Return the entity tag and the cached response of a key."""
        with self._lock:
            return self._entries.get(key)

    def store(self, key: str, response: HttpResponse) -> None:
        """Cache a small response with an entity tag."""
        tag = response.headers.get("ETag")
        if response.status != 200 or not tag or len(response.body) > MAX_BYTES:
            return
        with self._lock:
            self._entries[key] = (tag, response)
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
