"""Whether the caller of a running request is still there, seen from their connection without reading or writing."""

from collections.abc import Callable
from typing import Any

from flask import Request

from app.core.sockets import hung_up
from app.core.ticker import ticker

LOOK_EVERY_S = 0.5
SOCKET = "gunicorn.socket"


def watch(request: Request, left: Callable[[], None]) -> Callable[[], None]:
    """Call `left`, once, within a second after the caller hangs up; what is given ends the watch.

    A server that does not show its connections is not watched: there, a failing write tells.
    """
    connection = request.environ.get(SOCKET)
    if connection is None:
        return lambda: None
    watched = _Watch(connection, left)
    ticker.watch(watched)
    return watched.end


class _Watch:
    """Looks at one connection now and then."""

    def __init__(self, connection: Any, left: Callable[[], None]) -> None:
        self._connection, self._left = connection, left
        self._next_look_s = 0.0

    def tick(self, now_s: float) -> None:
        """See `app.core.ticker.Watched`."""
        if now_s < self._next_look_s:
            return
        self._next_look_s = now_s + LOOK_EVERY_S
        if hung_up(self._connection):
            self.end()
            self._left()

    def end(self) -> None:
        """Look no more."""
        ticker.forget(self)
