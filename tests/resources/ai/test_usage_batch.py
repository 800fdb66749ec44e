"""Tests of completed calls that are written although the database fails at first."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from app.core.retry import RetryOptions
from app.database.errors import DatabaseError
from app.extensions import db
from app.models.ai_usage import AiBudget, AiUsage
from app.resources.ai.usage_ledger import CompletedCall, UsageBatchWriter
from tests.resources.ai.test_usage_ledger import EACH, meter, used
from tests.support.world import Person

AT_ONCE = RetryOptions(lambda failure: isinstance(failure, DatabaseError), attempts=3, base_s=0.0)
LOST = sa.exc.TimeoutError("no answer")


def failing(times: int, *, committed: bool) -> Callable[[sa.Engine], contextlib.AbstractContextManager[sa.Connection]]:
    """Return transactions of which the first `times` fail before they begin or after their commit."""
    left = [times]

    @contextlib.contextmanager
    def begin(engine: sa.Engine) -> Iterator[sa.Connection]:
        fails, left[0] = left[0] > 0, left[0] - 1
        if fails and not committed:
            raise LOST
        with engine.begin() as connection:
            yield connection
        if fails:
            raise LOST

    return begin


def ended(person: Person, tokens: int) -> CompletedCall:
    """Return a call that reserved `EACH` and used `tokens`."""
    running = meter(person.id)
    running.reserve(EACH, EACH)
    assert running.usage_id is not None
    return CompletedCall(
        engine=db.engine, usage_id=running.usage_id, user_id=person.id, day=running.day.date(), input_tokens=tokens,
        output_tokens=0, ended_at=datetime.now(UTC), more=tokens - EACH,
    )  # fmt: skip


def running(person: Person) -> int:
    with person.app.app_context():
        left = sa.select(sa.func.count()).where(AiUsage.user_id == person.id, AiUsage.ended_at.is_(None))
        return db.session.scalar(left) or 0


class TestWrite:
    @pytest.mark.parametrize("committed", [False, True])
    @pytest.mark.parametrize("times", [1, 2])
    def test_call_is_written_once_after_a_database_failure(self, me: Person, times: int, committed: bool) -> None:
        with me.app.app_context():
            UsageBatchWriter(failing(times, committed=committed), retry_options=AT_ONCE).write(ended(me, 10))
            assert db.session.scalar(sa.select(AiBudget.tokens).where(AiBudget.user_id == me.id)) == 10
        assert (running(me), used(me)) == (0, 10)

    def test_permanent_database_failure_raises_and_leaves_the_reservation(self, me: Person) -> None:
        with me.app.app_context(), pytest.raises(sa.exc.TimeoutError):
            UsageBatchWriter(failing(9, committed=False), retry_options=AT_ONCE).write(ended(me, 10))
        assert (running(me), used(me)) == (1, EACH)

    def test_failed_batch_raises_for_every_call(self, me: Person) -> None:
        tried = []
        all_wait = threading.Event()

        @contextlib.contextmanager
        def begin(_engine: sa.Engine) -> Iterator[sa.Connection]:
            tried.append(None)
            assert all_wait.wait(60)
            raise LOST
            yield

        def settle(each: CompletedCall) -> Exception | None:
            try:
                settling.write(each)
            except sa.exc.TimeoutError as failure:
                return failure
            return None

        settling = UsageBatchWriter(begin, retry_options=AT_ONCE)
        with me.app.app_context():
            calls = [ended(me, 10) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            told = [pool.submit(settle, each) for each in calls]
            time.sleep(0.2)  # for the first to try and the others to wait
            all_wait.set()
        assert [each.result() for each in told] == [LOST] * 4
        assert len(tried) <= 2 * (1 + AT_ONCE.attempts)
