"""How far a branch's index is, told as it goes: one event for each change, the last when it is ready or has failed."""

import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from flask import Flask

from app.core.beside import Blocks
from app.core.errors import TooManyRequests
from app.http.json_events import event, failure
from app.http.rights import membership
from app.http.slots import Slots
from app.http.streaming import Events
from app.models.project_content import ContentIndex, IndexStatus

LOOK_EVERY_S = 0.5
OVER = (IndexStatus.READY, IndexStatus.FAILED)
A_USER, OF_ALL = 16, 400
"""So many are followed at once in one worker: each is a connection of its own for minutes, and looks twice a second."""

places = Slots(each=A_USER, of_all=OF_ALL)


class TooManyFollowed(TooManyRequests):
    """As many of this user's streams as may be open are (429)."""

    code, message = "TOO_MANY_STREAMS", "Too many indexes are being followed; close another page first"


def events_of(app: Flask, project_id: str, branch: str, *, organization_id: str, user_id: str) -> Events:
    """The stream of one branch's index, for as long as the reader is a member. Holds no connection between two looks.

    Raises:
        TooManyFollowed: the reader, or all of them, follow as many as may be.
    """
    left = threading.Event()
    asked = sa.select(
        ContentIndex.status, ContentIndex.commit_sha, ContentIndex.progress, ContentIndex.files, ContentIndex.problem
    ).where(ContentIndex.project_id == project_id, ContentIndex.branch == branch)
    reading: sa.Engine = app.extensions["reading_engine"]

    def look() -> Any:
        with reading.connect() as connection:
            return connection.execute(asked).first()

    if not places.take(user_id):
        raise TooManyFollowed(retry_after_s=5)
    return Events(
        _blocks(look, left, lambda: places.give(user_id)),
        cancel=left.set,
        failed=failure,
        allowed=membership(reading, organization_id, user_id),
    )


def _blocks(look: Callable[[], Any], left: threading.Event, give_back: Callable[[], None]) -> Blocks:
    before = None
    try:
        while not left.is_set():
            row = look()
            told = _told(row)
            if told != before:
                yield event(told)
                before = told
            if row is not None and row.status in OVER:
                return
            left.wait(LOOK_EVERY_S)
            yield b""
    finally:
        give_back()


def _told(row: Any) -> dict[str, Any]:
    if row is None:
        return {"status": IndexStatus.QUEUED, "commit_sha": None, "files": 0, "problem": None}
    files = row.progress if row.progress is not None else row.files
    return {"status": row.status, "commit_sha": row.commit_sha, "files": files, "problem": row.problem}
