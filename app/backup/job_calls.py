"""Waiting and running job calls as lines. The engine of each database can restore them."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

import orjson
import sqlalchemy as sa

from app.core.jobs import JobCall
from app.drivers.jobs.port import JobEngine


def lines_of(connection: sa.Connection, engine: JobEngine) -> Iterator[bytes]:
    """Yield a line for every call that has not ended. The remaining delay is rounded down to seconds."""
    for call in engine.unfinished(connection):
        fields = [
            call.name,
            dict(call.args),
            int(call.delay.total_seconds()),
            call.unique,
            call.lock,
            call.priority,
            call.context,
        ]
        yield orjson.dumps(fields)


def fill(connection: sa.Connection, engine: JobEngine, lines: Iterable[bytes]) -> None:
    """Enqueue the calls in their order."""
    for line in lines:
        name, args, delay_s, unique, lock, priority, cause = orjson.loads(line)
        engine.defer(connection, JobCall(name, args, timedelta(seconds=delay_s), unique, lock, priority, cause))
