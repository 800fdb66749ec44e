"""Client-side response timeouts for PostgreSQL. The time limits of the server have no effect when no packet arrives.

Without them a lost network, a stopped server or a stalled proxy would block a request until the kernel gives up after
about 15 minutes. Imported only where PostgreSQL is used.
"""

import time
from typing import TypeVar

import psycopg
from psycopg.abc import PQGen

from app.concurrency.threadpool import is_patched, is_readable

T = TypeVar("T")

REQUEST_TIMEOUT_S = 3.0
"""The timeout of one response in a request.

Together with its other work the request ends within 3.5 s (limits, section 3).
"""

WORKER_TIMEOUT_S = 8.0
"""The timeout in the worker and in commands. It exceeds the statement timeout of the server, which is 5 s."""


class TimeoutConnection(psycopg.Connection[object]):
    """A connection that closes itself if the server does not respond in time. The pool then discards it."""

    response_timeout_s: float | None = None
    """The timeout of this connection, or None for that of the process."""

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for a response.

        Raises:
            psycopg.OperationalError: the server did not respond in time.
        """
        limit_s = self.response_timeout_s or (REQUEST_TIMEOUT_S if is_patched() else WORKER_TIMEOUT_S)
        return super().wait(self._with_timeout(gen, limit_s), interval, timeout)

    def _with_timeout(self, gen: PQGen[T], limit_s: float) -> PQGen[T]:
        """Run the generator and close the connection after `limit_s` without data.

        The check of the socket avoids a timeout if this process was delayed and the data has already arrived.
        """
        last_data_s = time.monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready:
                    last_data_s = time.monotonic()
                elif time.monotonic() - last_data_s > limit_s and not is_readable(self.pgconn.socket):
                    self.pgconn.finish()
                    raise psycopg.OperationalError("the server did not respond in time")
                state = gen.send(ready)
        except StopIteration as done:
            result: T = done.value
            return result
