"""Answers a host has given, kept small, to ask “changed since?”: an unchanged one costs no rate (GitHub)."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from app.drivers.http import Answer

KEPT = 512
MAX_BYTES = 64 * 1024


@dataclass
class EtagCache:
    """The newest answers by URL and credential; never given to another credential than the one that fetched it."""

    _kept: "OrderedDict[str, tuple[str, Answer]]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key: str) -> tuple[str, Answer] | None:
        """The entity tag and the answer kept under a key."""
        with self._lock:
            return self._kept.get(key)

    def keep(self, key: str, answer: Answer) -> None:
        """Keep an answer that has an entity tag and is small."""
        tag = answer.headers.get("ETag")
        if answer.status != 200 or not tag or len(answer.body) > MAX_BYTES:
            return
        with self._lock:
            self._kept[key] = (tag, answer)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
