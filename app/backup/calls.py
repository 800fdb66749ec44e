"""Background jobs as lines: the calls that wait or run, so that either store's engine can take them up again."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

import orjson
import sqlalchemy as sa

from app.core.jobs import JobCall
from app.drivers.jobs.port import JobEngine


def lines_of(connection: sa.Connection, engine: JobEngine) -> Iterator[bytes]:
    """Every call that has not ended; how long it still has to wait is cut to seconds."""
    for call in engine.unfinished(connection):
        told = [
            call.name,
            dict(call.args),
            int(call.delay.total_seconds()),
            call.unique,
            call.lock,
            call.priority,
            call.cause,
        ]
        yield orjson.dumps(told)


def fill(connection: sa.Connection, engine: JobEngine, lines: Iterable[bytes]) -> None:
    """Let the calls wait again, in their order."""
    for line in lines:
        name, args, delay_s, unique, lock, priority, cause = orjson.loads(line)
        engine.defer(connection, JobCall(name, args, timedelta(seconds=delay_s), unique, lock, priority, cause))
