"""A PostgreSQL server that has fallen silent is not waited for: its own time limits do not help when nothing arrives.

A network that swallows packets, a stopped server or a stalled proxy would otherwise hold a request until the kernel gives up,
which takes a quarter of an hour. Imported only where PostgreSQL is used.
"""

import time
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

from app.core.threadpool import has_news, is_patched

T = TypeVar("T")

REQUEST_S = 3.0
"""How long a request waits for one answer: with what else it does, 503 within 3.5 s (limits, section 3)."""

ELSEWHERE_S = 8.0
"""How long the worker and commands wait: the server's own limit of 5 s a statement comes first where it is alive."""


class Impatient(psycopg.Connection[Any]):
    """Closes itself when the server does not answer in time, so that the pool takes it for broken."""

    answer_s: float | None = None
    """Another patience than the process's, of this connection."""

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for an answer.

        Raises:
            psycopg.OperationalError: none came in time.
        """
        limit_s = self.answer_s or (REQUEST_S if is_patched() else ELSEWHERE_S)
        return super().wait(self._watched(gen, limit_s), interval, timeout)

    def _watched(self, gen: PQGen[T], limit_s: float) -> PQGen[T]:
        """The same steps, ended when nothing has come for that long: a process that is late itself finds it there."""
        heard_s = time.monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready:
                    heard_s = time.monotonic()
                elif time.monotonic() - heard_s > limit_s and not has_news(self.pgconn.socket):
                    self.pgconn.finish()
                    raise psycopg.OperationalError("the server does not answer")
                state = gen.send(ready)
        except StopIteration as done:
            found: T = done.value
            return found
