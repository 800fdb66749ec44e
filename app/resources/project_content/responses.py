"""Responses of project content: results of saves, trees, bytes of files, event streams and 304."""

import threading
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from flask import Response, current_app, request
from werkzeug.utils import get_content_type

from app.access.guards import membership_check
from app.access.scope import ProjectScope
from app.concurrency.background import Blocks
from app.concurrency.bounded import ConcurrencyLimiter
from app.core.errors import TooManyRequests
from app.core.outbound import UnrecordedAct
from app.extensions import drivers
from app.http import caching
from app.http.endpoint import ViewResult
from app.http.envelope import success
from app.http.streaming.response import EventStream, StreamSettings, failure, sse_event, sse_response
from app.models.base import Row
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content import queries
from app.resources.project_content.schemas.content import TreeQuery
from app.resources.project_content.service import UnrecordedSave
from app.resources.project_content.tree import tree_snapshot
from app.resources.project_content.versions.file_metadata import RawFile

INDEX_STREAM_S, POLL_INTERVAL_S = 600, 0.5
FINAL_STATES = (IndexStatus.READY, IndexStatus.FAILED)
MAX_STREAMS_PER_USER, MAX_STREAMS = 16, 400
"""Limits of one worker. Each stream is a connection for minutes and reads the index twice a second."""

index_stream_limiter = ConcurrencyLimiter(per_key=MAX_STREAMS_PER_USER, total=MAX_STREAMS)
MAX_INSPECTED_BYTES = 1024 * 1024
"""Longer texts are sent without a charset, because they are not held in memory to detect UTF-8."""


class TooManyIndexStreams(TooManyRequests):
    """A stream beyond the limit of the user or of the worker (429)."""

    code, message = "TOO_MANY_STREAMS", "Too many index streams are open. Close another page first"


def tree(scope: ProjectScope, query: TreeQuery, index: ContentIndex | None) -> Response:
    """Return the tree of a branch, or a part of it."""
    is_part = query.path is not None or query.limit is not None
    return _part_of_tree(scope, query, index) if is_part else _whole_tree(scope, query, index)


def _whole_tree(scope: ProjectScope, query: TreeQuery, index: ContentIndex | None) -> Response:
    unchanged = caching.not_modified(request, index.commit_sha) if index and index.commit_sha else None
    if unchanged is not None:
        return unchanged
    whole = tree_snapshot.whole(scope.project.id, index, query.ref or scope.project.branch, trees=drivers.trees)
    return caching.precompressed_response(request, whole, whole.commit_sha)


def _part_of_tree(scope: ProjectScope, query: TreeQuery, index: ContentIndex | None) -> Response:
    page = queries.part(
        scope.project,
        index,
        query.ref or scope.project.branch,
        folder=query.path,
        limit=query.limit,
        cursor=query.cursor,
    )
    return success(request, page.result, tree_snapshot.MESSAGE, meta=page.meta)


def save_result(act: UnrecordedSave) -> UnrecordedAct[object]:
    """Return a save whose response has the status 201 with a commit, and 200 without a difference."""
    return UnrecordedAct(lambda: ViewResult(act.record(), 200 if act.late is None else 201), act.late)


def raw(file: RawFile) -> Response:
    """Return the bytes of a file, or 304 if the caller has them."""
    unchanged = caching.not_modified(request, file.sha)
    return unchanged or stream_file(file.read(), size=file.size, mime=file.mime, tag=file.sha)


def index_events(scope: ProjectScope, branch: str | None) -> Response:
    """Return the events of the index of a branch until it is ready or has failed, while the reader is a member.

    Holds no connection between two reads.

    Raises:
        TooManyIndexStreams: the limit of the user or of the worker is reached.
    """
    disconnected, user_id = threading.Event(), scope.caller.id
    statement = queries.progress_of(scope.project.id, branch or scope.project.branch)
    reading = current_app.extensions["reading_engine"]
    allowed = membership_check(reading, scope.project.id, user_id)

    def read() -> Any:
        with reading.connect() as connection:
            return connection.execute(statement).first()

    if not index_stream_limiter.acquire(user_id):
        raise TooManyIndexStreams(retry_after_s=5)
    blocks = _blocks(read, disconnected, lambda: index_stream_limiter.release(user_id))
    events = EventStream(blocks, cancel=disconnected.set, failed=failure, allowed=allowed)
    return sse_response(events, timing=StreamSettings(total_s=INDEX_STREAM_S))


def _blocks(read: Callable[[], Row | None], disconnected: threading.Event, release: Callable[[], None]) -> Blocks:
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


def _state(row: Row | None) -> dict[str, object]:
    if row is None:
        return {"status": IndexStatus.QUEUED, "commit_sha": None, "files": 0, "problem": None}
    files = row.progress if row.progress is not None else row.files
    return {"status": row.status, "commit_sha": row.commit_sha, "files": files, "problem": row.problem}


def stream_file(chunks: Iterator[bytes], *, size: int | None, mime: str, tag: str) -> Response:
    """Return a streamed response with a content security policy that forbids scripts."""
    content_type, chunks = _with_charset(mime, chunks)
    response = Response(chunks, content_type=content_type)
    if size is not None:
        response.content_length = size
    response.set_etag(tag)
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _with_charset(mime: str, chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """Return the content type, with the charset if the file is UTF-8 text, and all chunks."""
    with_charset = get_content_type(mime, "utf-8")
    if with_charset == mime:
        return mime, chunks
    held, size = [], 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size > MAX_INSPECTED_BYTES:
            return mime, chain(held, chunks)
    return (with_charset if _is_utf8(b"".join(held)) else mime), iter(held)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
