"""Event stream of the progress of an index: one event per change, the last one when it is ready or has failed."""

import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from flask import Flask

from app.access.guards import membership_check
from app.concurrency.background import Blocks
from app.concurrency.limiter import ConcurrencyLimiter
from app.core.errors import TooManyRequests
from app.http.streaming.response import EventStream
from app.http.streaming.sse import failure, sse_event
from app.models.project_content import ContentIndex, IndexStatus

POLL_INTERVAL_S = 0.5
FINAL_STATES = (IndexStatus.READY, IndexStatus.FAILED)
MAX_STREAMS_PER_USER, MAX_STREAMS = 16, 400
"""Limits of one worker. Each stream is a connection for minutes and reads the index twice a second."""

index_stream_limiter = ConcurrencyLimiter(per_key=MAX_STREAMS_PER_USER, total=MAX_STREAMS)


class TooManyIndexStreams(TooManyRequests):
    """A stream beyond the limit of the user or of the worker (429)."""

    code, message = "TOO_MANY_STREAMS", "Too many index streams are open. Close another page first"


def events_of(app: Flask, project_id: str, branch: str, *, organization_id: str, user_id: str) -> EventStream:
    """Return the events of an index while the reader is a member. Holds no connection between two reads.

    Raises:
        TooManyIndexStreams: the limit of the user or of the worker is reached.
    """
    disconnected = threading.Event()
    statement = sa.select(
        ContentIndex.status, ContentIndex.commit_sha, ContentIndex.progress, ContentIndex.files, ContentIndex.problem
    ).where(ContentIndex.project_id == project_id, ContentIndex.branch == branch)
    reading: sa.Engine = app.extensions["reading_engine"]

    def read() -> Any:
        with reading.connect() as connection:
            return connection.execute(statement).first()

    if not index_stream_limiter.acquire(user_id):
        raise TooManyIndexStreams(retry_after_s=5)
    return EventStream(
        _blocks(read, disconnected, lambda: index_stream_limiter.release(user_id)),
        cancel=disconnected.set,
        failed=failure,
        allowed=membership_check(reading, organization_id, user_id),
    )


def _blocks(read: Callable[[], Any], disconnected: threading.Event, release: Callable[[], None]) -> Blocks:
    previous = None
    try:
        while not disconnected.is_set():
            row = read()
            state = _state(row)
            if state != previous:
                yield sse_event(state)
                previous = state
            if row is not None and row.status in FINAL_STATES:
                return
            disconnected.wait(POLL_INTERVAL_S)
            yield b""
    finally:
        release()


def _state(row: Any) -> dict[str, Any]:
    if row is None:
        return {"status": IndexStatus.QUEUED, "commit_sha": None, "files": 0, "problem": None}
    files = row.progress if row.progress is not None else row.files
    return {"status": row.status, "commit_sha": row.commit_sha, "files": files, "problem": row.problem}
