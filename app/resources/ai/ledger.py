"""What calls to models cost: who may start one, how many run at once, and the day's budget of the operator's tokens.

Everything is decided in the database under a lock on the user, so that parallel calls, in however many processes, cannot
pass a limit. Each change is a short transaction of its own: it has to outlive a request that fails.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any

import sqlalchemy as sa
import structlog

from app.core import clock
from app.core.errors import NotSignedIn
from app.core.ids import new_id
from app.core.limits import AiLimits
from app.core.upserts import insert_unless_there
from app.models.ai_usage import AiBudget, AiUsage
from app.models.base import moment
from app.models.user import User
from app.resources.ai.errors import BudgetUsed, TooManyStreams
from app.resources.ai.settling import FAILURES, Ended, Settling

log = structlog.get_logger(__name__)

UNLIMITED = frozenset({"copilot"})
"""Handlers whose short calls do not count among those that run at once (limits, section 1: Rate limits)."""
BUSY_RETRY_S = 5
LEASE_SLACK_S = 30

# Made once: composing a statement costs several times what running it does, before every first token.
_user: sa.BindParameter[Any] = sa.bindparam("user")
_on: sa.BindParameter[Any] = sa.bindparam("on")
_now: sa.BindParameter[Any] = sa.bindparam("now")
_LOCK = sa.select(User.id).where(User.id == _user).with_for_update(key_share=True)
# What a crash of PostgreSQL's own machine may undo here is half a second of counting; a disk is not waited for.
_WITHOUT_DISK = sa.select(sa.func.set_config("synchronous_commit", "off", True))
_RUNNING = sa.select(sa.func.count()).where(
    AiUsage.user_id == _user,
    AiUsage.created_at > sa.bindparam("since"),
    AiUsage.ended_at.is_(None),
    AiUsage.expires_at > _now,
    AiUsage.handler.not_in(sorted(UNLIMITED)),
)
_INSERT = sa.insert(AiUsage)
_RESERVE = (
    sa.update(AiBudget)
    .where(AiBudget.user_id == _user, AiBudget.day == _on, AiBudget.tokens <= sa.bindparam("room"))
    .values(tokens=AiBudget.tokens + sa.bindparam("more"))
)


@dataclass(frozen=True)
class Entry:
    """What is written down of a call when it starts."""

    user_id: str
    organization_id: str | None
    handler: str
    provider: str
    model: str
    own_key: bool


@dataclass
class Meter:
    """One call that runs: reserves tokens before each question, and is settled once."""

    engine: sa.Engine
    limits: AiLimits
    entry: Entry
    usage_id: str | None = None
    reserved: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    day: datetime = field(default_factory=clock.now)

    def reserve(self, tokens: int) -> None:
        """Make sure that `tokens` more may be spent; the first time, that one more call may run.

        Raises:
            TooManyStreams, BudgetUsed: not now.
        """
        with _short(self.engine) as connection:
            _lock(connection, self.entry.user_id)
            new = None
            if self.usage_id is None:
                new = _start(connection, self.entry, self.limits)
            if not self.entry.own_key:
                _reserve(connection, self.entry.user_id, self.day, tokens, self.limits.operator_tokens_a_day)
        self.usage_id = self.usage_id or new
        self.reserved += tokens

    def count(self, input_tokens: int, output_tokens: int) -> None:
        """Add what a question cost."""
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens

    def settle(self) -> None:
        """Write down what the call cost and let the next one start; a second time does nothing."""
        usage_id, self.usage_id = self.usage_id, None
        if usage_id is None:
            return
        spent = self.input_tokens + self.output_tokens
        ended = Ended(
            engine=self.engine,
            usage_id=usage_id,
            user_id=self.entry.user_id,
            day=self.day.date(),
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            ended_at=moment(),
            more=None if self.entry.own_key else spent - self.reserved,
        )
        try:
            _settling.settle(ended)
        except FAILURES as error:
            # The rows' leases run out, and their reservations stay spent.
            log.warning("ai.unsettled", error=type(error).__name__)


@contextmanager
def _short(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that nobody waits for longer than it takes in memory; others see it as any other."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(_WITHOUT_DISK)
        yield connection


_settling = Settling(_short)


def _lock(connection: sa.Connection, user_id: str) -> None:
    """SQLite holds its one write lock already."""
    if connection.scalar(_LOCK, {"user": user_id}) is None:
        raise NotSignedIn


def _start(connection: sa.Connection, entry: Entry, limits: AiLimits) -> str:
    now = moment()
    lease = timedelta(seconds=limits.total_timeout_s + LEASE_SLACK_S)
    if entry.handler not in UNLIMITED:
        running = connection.scalar(_RUNNING, {"user": entry.user_id, "now": now, "since": now - lease})
        if (running or 0) >= limits.streams:
            raise TooManyStreams(retry_after_s=BUSY_RETRY_S)
    usage_id = new_id("aiu")
    row = {"id": usage_id, "created_at": now, "expires_at": now + lease, "input_tokens": 0, "output_tokens": 0}
    connection.execute(_INSERT, {**row, **vars(entry)})
    return usage_id


def _reserve(connection: sa.Connection, user_id: str, day: datetime, tokens: int, most: int) -> None:
    change = {"user": user_id, "on": day.date(), "more": tokens, "room": most - tokens}
    if connection.execute(_RESERVE, change).rowcount:
        return
    first = {"user_id": user_id, "day": day.date(), "tokens": 0}
    connection.execute(insert_unless_there(connection.dialect.name, AiBudget, first, unique=["user_id", "day"]))
    if not connection.execute(_RESERVE, change).rowcount:
        raise BudgetUsed(retry_after_s=round((next_day(day) - day).total_seconds()))


def next_day(day: datetime) -> datetime:
    """When the budget is whole again: midnight, UTC."""
    return datetime.combine(day.date() + timedelta(days=1), time(), UTC)
