"""Writer of the usage of completed calls. Calls that end at the same time share a transaction."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from app.core.errors import ServiceUnavailable
from app.core.retry import RetryOptions, retry
from app.models.ai_usage import AiBudget, AiUsage

MAX_BATCH = 500
"""Largest number of calls in one transaction."""
FAILURES = (sa.exc.SQLAlchemyError, ServiceUnavailable)
RETRY = RetryOptions(lambda failure: isinstance(failure, FAILURES), base_s=0.2, max_s=1, deadline_s=15)

_END = (
    sa.update(AiUsage.__table__)  # type: ignore[arg-type]
    .where(AiUsage.id == sa.bindparam("usage"))
    .values({name: sa.bindparam(name) for name in ("input_tokens", "output_tokens", "ended_at")})
)
_RUNNING = sa.select(AiUsage.id).where(AiUsage.id.in_(sa.bindparam("ids", expanding=True)), AiUsage.ended_at.is_(None))
_ADJUST = (
    sa.update(AiBudget.__table__)  # type: ignore[arg-type]
    .where(AiBudget.user_id == sa.bindparam("user"), AiBudget.day == sa.bindparam("on"))
    .values(tokens=AiBudget.tokens + sa.bindparam("more"))
)


@dataclass(frozen=True)
class CompletedCall:
    """A call that has ended. `more` is the charge minus the reservation, or None for a call without a budget."""

    engine: sa.Engine
    usage_id: str
    user_id: str
    day: date
    input_tokens: int
    output_tokens: int
    ended_at: datetime
    more: int | None


class UsageBatchWriter:
    """Writer that runs one transaction at a time. Its transaction includes the calls that wait for the lock."""

    def __init__(
        self,
        begin: Callable[[sa.Engine], AbstractContextManager[sa.Connection]],
        *,
        retry_options: RetryOptions = RETRY,
    ) -> None:
        self._begin, self._retry_options = begin, retry_options
        self._waiting: dict[str, CompletedCall] = {}
        self._failures: dict[str, Exception] = {}
        self._lock = threading.Lock()

    def write(self, call: CompletedCall) -> None:
        """Write the call. A database error is raised to every caller whose call was in the transaction."""
        self._waiting[call.usage_id] = call
        with self._lock:
            while call.usage_id in self._waiting:
                # Copy first: other threads may add calls during the iteration.
                waiting = list(self._waiting.values())
                self._write([each for each in waiting if each.engine is call.engine][:MAX_BATCH])
            failure = self._failures.pop(call.usage_id, None)
        if failure is not None:
            raise failure

    def _write(self, batch: Sequence[CompletedCall]) -> None:
        for call in batch:
            del self._waiting[call.usage_id]
        try:
            self._try(batch)
        except FAILURES:
            self._try_again(batch)

    def _try_again(self, batch: Sequence[CompletedCall]) -> None:
        try:
            retry(lambda: self._try(batch, is_retry=True), self._retry_options)
        except FAILURES as failure:
            self._failures |= dict.fromkeys((call.usage_id for call in batch), failure)

    def _try(self, batch: Sequence[CompletedCall], *, is_retry: bool = False) -> None:
        with self._begin(batch[0].engine) as connection:
            if is_retry:
                # The first attempt may have been committed although its response was lost.
                running = set(connection.scalars(_RUNNING, {"ids": [call.usage_id for call in batch]}))
                batch = [call for call in batch if call.usage_id in running]
            if batch:
                connection.execute(_END, [_row(call) for call in batch])
                _adjust_budgets(connection, batch)


def _adjust_budgets(connection: sa.Connection, batch: Sequence[CompletedCall]) -> None:
    changes: Counter[tuple[str, date]] = Counter()
    for call in batch:
        if call.more is not None:
            changes[call.user_id, call.day] += call.more
    if changes:
        # A fixed order of rows prevents deadlocks between processes.
        rows = [{"user": user, "on": on, "more": tokens} for (user, on), tokens in sorted(changes.items())]
        connection.execute(_ADJUST, rows)


def _row(call: CompletedCall) -> dict[str, Any]:
    tokens = {"input_tokens": call.input_tokens, "output_tokens": call.output_tokens}
    return {"usage": call.usage_id, "ended_at": call.ended_at, **tokens}
