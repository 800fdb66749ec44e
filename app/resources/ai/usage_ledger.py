"""Ledger of calls to models: concurrent calls of a user and the daily budget of the operator's tokens.

Every decision is a short transaction under a lock on the user, so that parallel calls in any number of processes cannot
exceed a limit. The transactions are independent of the database session because they must outlive a failed request.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

import sqlalchemy as sa
import structlog

from app.core import clock
from app.core.errors import NotAuthenticated
from app.core.ids import new_id
from app.core.limits import AiLimits
from app.core.retry import RetryOptions, retry
from app.database.errors import DatabaseError
from app.database.inserts import insert_or_ignore
from app.models.ai_usage import AiBudget, AiUsage
from app.models.base import utcnow_ms
from app.models.user import User
from app.resources.ai.errors import BudgetUsed, TooManyStreams

log = structlog.get_logger(__name__)

MAX_BATCH = 500
"""Largest number of calls in one transaction."""
RETRY = RetryOptions(lambda failure: isinstance(failure, DatabaseError), base_s=0.2, max_s=1, deadline_s=15)

_END = (
    sa.update(AiUsage.__table__)  # type: ignore[arg-type]
    .where(AiUsage.id == sa.bindparam("usage"))
    .values({name: sa.bindparam(name) for name in ("input_tokens", "output_tokens", "ended_at")})
)
_UNFINISHED = sa.select(AiUsage.id).where(
    AiUsage.id.in_(sa.bindparam("ids", expanding=True)), AiUsage.ended_at.is_(None)
)
_ADJUST = (
    sa.update(AiBudget.__table__)  # type: ignore[arg-type]
    .where(AiBudget.user_id == sa.bindparam("user"), AiBudget.day == sa.bindparam("on"))
    .values(tokens=AiBudget.tokens + sa.bindparam("more"))
)
UNCOUNTED_HANDLERS = frozenset({"copilot"})
"""Handlers whose short calls do not count as concurrent streams (limits, section 1: Rate limits)."""
BUSY_RETRY_S = 5
LEASE_SLACK_S = 30
MAX_BUDGET = 2**62
# Do not wait for the disk: a crash of the database machine loses at most half a second of counting.
_WITHOUT_DISK = sa.select(sa.func.set_config("synchronous_commit", "off", True))
_INSERT = sa.insert(AiUsage)


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
                self._write([entry for entry in waiting if entry.engine is call.engine][:MAX_BATCH])
            failure = self._failures.pop(call.usage_id, None)
        if failure is not None:
            raise failure

    def _write(self, batch: Sequence[CompletedCall]) -> None:
        for call in batch:
            del self._waiting[call.usage_id]
        try:
            self._try(batch)
        except DatabaseError:
            self._try_again(batch)

    def _try_again(self, batch: Sequence[CompletedCall]) -> None:
        try:
            retry(lambda: self._try(batch, is_retry=True), self._retry_options)
        except DatabaseError as failure:
            self._failures |= dict.fromkeys((call.usage_id for call in batch), failure)

    def _try(self, batch: Sequence[CompletedCall], *, is_retry: bool = False) -> None:
        with self._begin(batch[0].engine) as connection:
            if is_retry:
                # The first attempt may have been committed although its response was lost.
                running = set(connection.scalars(_UNFINISHED, {"ids": [call.usage_id for call in batch]}))
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


def _row(call: CompletedCall) -> dict[str, object]:
    tokens = {"input_tokens": call.input_tokens, "output_tokens": call.output_tokens}
    return {"usage": call.usage_id, "ended_at": call.ended_at, **tokens}


# Statements are built once: building one takes several times as long as running it.
_user: sa.BindParameter[object] = sa.bindparam("user")
_on: sa.BindParameter[object] = sa.bindparam("on")
_now: sa.BindParameter[object] = sa.bindparam("now")
_LOCK = sa.select(User.id).where(User.id == _user).with_for_update(key_share=True)
_RUNNING = sa.select(sa.func.count()).where(
    AiUsage.user_id == _user,
    AiUsage.created_at > sa.bindparam("since"),
    AiUsage.ended_at.is_(None),
    AiUsage.expires_at > _now,
    AiUsage.handler.not_in(sorted(UNCOUNTED_HANDLERS)),
)
_RESERVE = (
    sa.update(AiBudget)
    .where(AiBudget.user_id == _user, AiBudget.day == _on, AiBudget.tokens <= sa.bindparam("max_tokens"))
    .values(tokens=AiBudget.tokens + sa.bindparam("more"))
)


@dataclass(frozen=True)
class UsageEntry:
    """Fields of a call that are stored when it starts."""

    user_id: str
    organization_id: str | None
    handler: str
    provider: str
    model: str
    own_key: bool


@dataclass
class UsageMeter:
    """Tokens of one running call. Each prompt reserves its estimate, and `settle` writes the result once."""

    engine: sa.Engine
    limits: AiLimits
    entry: UsageEntry
    usage_id: str | None = None
    reserved: int = 0
    max_used: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    day: datetime = field(default_factory=clock.now)

    @property
    def used(self) -> int:
        """Tokens of the prompts that have ended."""
        return self.input_tokens + self.output_tokens

    def reserve(self, tokens: int, max_tokens: int) -> None:
        """Reserve `tokens` for the next prompt and release what the previous prompts did not use.

        A provider cannot plausibly count more than `max_tokens` for the prompt. The first reservation also counts the
        call as running.

        Raises:
            TooManyStreams: the user has too many running calls.
            BudgetUsed: the remaining budget of the day is smaller.
        """
        needed = self.used + tokens
        with _transaction(self.engine) as connection:
            _lock(connection, self.entry.user_id)
            new = None
            if self.usage_id is None:
                new = _start(connection, self.entry, self.limits)
            if not self.entry.own_key:
                budget = self.limits.operator_tokens_a_day
                _reserve(connection, self.entry.user_id, self.day, needed - self.reserved, budget)
        self.usage_id = self.usage_id or new
        self.reserved = needed
        self.max_used += max_tokens

    def count(self, input_tokens: int, output_tokens: int) -> None:
        """Add the tokens of a prompt."""
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens

    def settle(self) -> None:
        """Write the tokens of the call and release the remaining reservation. Further calls have no effect."""
        usage_id, self.usage_id = self.usage_id, None
        if usage_id is None:
            return
        completed = CompletedCall(
            engine=self.engine,
            usage_id=usage_id,
            user_id=self.entry.user_id,
            day=self.day.date(),
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            ended_at=utcnow_ms(),
            more=None if self.entry.own_key else self._charged() - self.reserved,
        )
        try:
            _writer.write(completed)
        except DatabaseError as error:
            # The lease of the row expires, and the reservation stays in the budget.
            log.warning("ai.usage_write_failed", error=type(error).__name__)

    def _charged(self) -> int:
        """Return the tokens that the budget is charged: the used tokens, at most a plausible number."""
        if self.used > self.reserved:
            log.warning(
                "ai.usage_above_reservation",
                provider=self.entry.provider,
                handler=self.entry.handler,
                used=self.used,
                reserved=self.reserved,
            )
        return min(self.used, self.max_used)


@contextmanager
def _transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Run a transaction whose commit does not wait for the disk."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(_WITHOUT_DISK)
        yield connection


_writer = UsageBatchWriter(_transaction)


def _lock(connection: sa.Connection, user_id: str) -> None:
    """Lock the user. SQLite already holds its only write lock."""
    if connection.scalar(_LOCK, {"user": user_id}) is None:
        raise NotAuthenticated


def _start(connection: sa.Connection, entry: UsageEntry, limits: AiLimits) -> str:
    now = utcnow_ms()
    lease = timedelta(seconds=limits.total_timeout_s + LEASE_SLACK_S)
    if entry.handler not in UNCOUNTED_HANDLERS:
        running = connection.scalar(_RUNNING, {"user": entry.user_id, "now": now, "since": now - lease})
        if (running or 0) >= limits.streams:
            raise TooManyStreams(retry_after_s=BUSY_RETRY_S)
    usage_id = new_id("aiu")
    row = {"id": usage_id, "created_at": now, "expires_at": now + lease, "input_tokens": 0, "output_tokens": 0}
    connection.execute(_INSERT, {**row, **vars(entry)})
    return usage_id


def _reserve(connection: sa.Connection, user_id: str, day: datetime, tokens: int, budget: int) -> None:
    """Add `tokens` to the budget of the day. A negative number releases tokens and never fails."""
    max_tokens = budget - tokens if tokens > 0 else MAX_BUDGET
    change = {"user": user_id, "on": day.date(), "more": tokens, "max_tokens": max_tokens}
    if connection.execute(_RESERVE, change).rowcount:
        return
    first = {"user_id": user_id, "day": day.date(), "tokens": 0}
    connection.execute(insert_or_ignore(connection.dialect.name, AiBudget, first, unique=["user_id", "day"]))
    if not connection.execute(_RESERVE, change).rowcount:
        raise BudgetUsed(retry_after_s=round((next_day(day) - day).total_seconds()))


def next_day(day: datetime) -> datetime:
    """Return the next midnight in UTC, when the budget starts again."""
    return datetime.combine(day.date() + timedelta(days=1), time(), UTC)
