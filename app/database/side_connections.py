"""Connections that are independent of the database session."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from app.database.engines import engine_options, prepare_engine, reading_options

MAX_SIDE_CONNECTIONS, IDLE_SIDE_CONNECTIONS = 4, 1


class SideConnections:
    """A bounded pool of connections outside the pools of the session. Safe in any thread.

    A thread that takes a second connection from the pool it already uses can deadlock. Code that holds a side
    connection takes no other connection.
    """

    def __init__(self, url: sa.URL, *, max_connections: int = MAX_SIDE_CONNECTIONS) -> None:
        text = url.render_as_string(hide_password=False)
        options = engine_options(text, pool_size=IDLE_SIDE_CONNECTIONS, pool_max=max_connections)
        self.engine = sa.create_engine(url, **options, pool_pre_ping=True)
        self._slots = threading.BoundedSemaphore(max_connections)
        prepare_engine(self.engine)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Provide a connection without a transaction."""
        with self._slots, self.engine.connect() as connection:
            yield connection.execution_options(**reading_options(self.engine))

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Provide a connection with one short transaction. Commit it at the end of the block."""
        with self._slots, self.engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close the unused connections."""
        self.engine.dispose()
