"""Writing down what ended calls to models cost: one after another, or in one transaction where many end at once."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from app.core.errors import Unavailable
from app.core.retry import RetryOptions, retry
from app.models.ai_usage import AiBudget, AiUsage

MOST = 500
"""So many calls of one transaction."""
FAILURES = (sa.exc.SQLAlchemyError, Unavailable)
AGAIN = RetryOptions(lambda failure: isinstance(failure, FAILURES), base_s=0.2, max_s=1, deadline_s=15)

_END = (
    sa.update(AiUsage.__table__)  # type: ignore[arg-type]
    .where(AiUsage.id == sa.bindparam("usage"))
    .values({name: sa.bindparam(name) for name in ("input_tokens", "output_tokens", "ended_at")})
)
_RUNNING = sa.select(AiUsage.id).where(AiUsage.id.in_(sa.bindparam("ids", expanding=True)), AiUsage.ended_at.is_(None))
_GIVE_BACK = (
    sa.update(AiBudget.__table__)  # type: ignore[arg-type]
    .where(AiBudget.user_id == sa.bindparam("user"), AiBudget.day == sa.bindparam("on"))
    .values(tokens=AiBudget.tokens + sa.bindparam("more"))
)


@dataclass(frozen=True)
class Ended:
    """One call that has ended; `more` is what it cost beyond its reservation, None where it took nothing of a budget."""

    engine: sa.Engine
    usage_id: str
    user_id: str
    day: date
    input_tokens: int
    output_tokens: int
    ended_at: datetime
    more: int | None


class Settling:
    """One writer at a time; who waits for their turn may find that the one before has written theirs as well."""

    def __init__(
        self, begin: Callable[[sa.Engine], AbstractContextManager[sa.Connection]], *, again: RetryOptions = AGAIN
    ) -> None:
        self._begin, self._again = begin, again
        self._waiting: dict[str, Ended] = {}
        self._lost: dict[str, Exception] = {}
        self._turn = threading.Lock()

    def settle(self, ended: Ended) -> None:
        """Write it down. Raises what the database raises, to each of those whose calls were tried together."""
        self._waiting[ended.usage_id] = ended
        with self._turn:
            while ended.usage_id in self._waiting:
                # A list first: others may come while it is looked through.
                waiting = list(self._waiting.values())
                self._write([each for each in waiting if each.engine is ended.engine][:MOST])
            failure = self._lost.pop(ended.usage_id, None)
        if failure is not None:
            raise failure

    def _write(self, batch: Sequence[Ended]) -> None:
        for each in batch:
            del self._waiting[each.usage_id]
        try:
            self._try(batch)
        except FAILURES:  # a stall of two seconds is enough; the calls of all who wait hang on this
            self._try_again(batch)

    def _try_again(self, batch: Sequence[Ended]) -> None:
        try:
            retry(lambda: self._try(batch, again=True), self._again)
        except FAILURES as failure:  # tried for long enough: nobody of the batch tries again
            self._lost |= dict.fromkeys((each.usage_id for each in batch), failure)

    def _try(self, batch: Sequence[Ended], *, again: bool = False) -> None:
        with self._begin(batch[0].engine) as connection:
            if again:  # the one before may have been committed, and only its answer lost
                running = set(connection.scalars(_RUNNING, {"ids": [each.usage_id for each in batch]}))
                batch = [each for each in batch if each.usage_id in running]
            if not batch:
                return
            more: Counter[tuple[str, date]] = Counter()
            for each in batch:
                if each.more is not None:
                    more[each.user_id, each.day] += each.more
            connection.execute(_END, [_row(each) for each in batch])
            if more:  # in one order, so that two processes never wait for each other
                rows = [{"user": user, "on": on, "more": tokens} for (user, on), tokens in sorted(more.items())]
                connection.execute(_GIVE_BACK, rows)


def _row(ended: Ended) -> dict[str, Any]:
    spent = {"input_tokens": ended.input_tokens, "output_tokens": ended.output_tokens}
    return {"usage": ended.usage_id, "ended_at": ended.ended_at, **spent}
