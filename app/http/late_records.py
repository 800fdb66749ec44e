"""Jobs that record the effect of a request outside the database whose transaction failed."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog

from app.core.outbound import LateRecord
from app.database import transactions
from app.database.errors import DatabaseError
from app.extensions import jobs, start_background
from app.http.idempotency import StillRunning

PAUSE_S, ATTEMPTS = 2.0, 300
"""A database that does not return within ten minutes loses the record. An index finds the commit later."""

log = structlog.get_logger(__name__)


def store(late: LateRecord[Any], store_response: Callable[[], None]) -> None:
    """Enqueue the jobs of a record and store the response for repeated requests.

    Without a database, a thread does both when it is back.
    """
    if not _try_store(late, store_response):
        start_background("late-record", lambda: _store_later(late, store_response))


def _store_later(late: LateRecord[Any], store_response: Callable[[], None]) -> None:
    for _ in range(ATTEMPTS):
        time.sleep(PAUSE_S)
        if _try_store(late, store_response):
            return
    log.error("request.record_lost", jobs=[name for name, _ in late.jobs])


def _try_store(late: LateRecord[Any], store_response: Callable[[], None]) -> bool:
    try:
        with transactions.write_transaction():
            for name, arguments in late.jobs:
                jobs.enqueue(name, **arguments)
            with suppress(StillRunning):  # A repeated request has taken the key over.
                store_response()
    except DatabaseError:
        return False
    return True
