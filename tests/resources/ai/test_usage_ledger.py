"""Tests of the budget and the running calls under concurrency, decided in the database."""

import dataclasses
from collections import Counter
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
import structlog

from app.core.errors import AppError, NotAuthenticated
from app.core.limits import AiLimits
from app.extensions import db
from app.models.ai_usage import AiBudget, AiUsage
from app.resources.ai import prompts
from app.resources.ai.errors import BudgetUsed, TooManyStreams
from app.resources.ai.usage_ledger import UsageEntry, UsageMeter, next_day
from tests.resources.ai.conftest import Limits
from tests.support.doubles.ai import AiDouble, say
from tests.support.parallel import at_once
from tests.support.world import Person

CALLS, ROOM, EACH = 100, 10, 1000
MAX_USED = 10**9
LIMITS = dataclasses.replace(AiLimits(), operator_tokens_a_day=ROOM * EACH)


def meter(user_id: str, *, handler: str = "copilot", own_key: bool = False) -> UsageMeter:
    return UsageMeter(db.engine, LIMITS, UsageEntry(user_id, None, handler, "openai", "m", own_key))


def used(person: Person) -> int:
    with person.app.app_context():
        return db.session.scalar(sa.select(AiBudget.tokens).where(AiBudget.user_id == person.id)) or 0


def reserved(person: Person, made: UsageMeter) -> str:
    """Return `taken` or the error code of a reservation. A busy database is tried again."""
    while True:
        try:
            with person.app.app_context():
                made.reserve(EACH, MAX_USED)
        except (sa.exc.OperationalError, sa.exc.TimeoutError):
            continue
        except AppError as error:
            return error.code
        return "taken"


class TestBudget:
    def test_parallel_reservations_use_exactly_the_budget(self, me: Person) -> None:
        with me.app.app_context():
            meters = [meter(me.id) for _ in range(CALLS)]
        counts = Counter(at_once(CALLS, lambda: reserved(me, meters.pop())))
        assert counts == {"taken": ROOM, "AI_BUDGET_USED": CALLS - ROOM}
        assert used(me) == ROOM * EACH

    def test_parallel_requests_use_at_most_the_budget(self, me: Person, double: AiDouble, limits: Limits) -> None:
        """Each request costs its whole reservation, so ten of them use the budget."""
        prompt = prompts.copilot("The quick", None)
        cost = prompt.reserved_input_tokens + prompt.max_tokens
        # The random mark of each prompt changes its reservation by a few tokens.
        limits.set(operator_tokens_a_day=ROOM * cost + cost // 2)
        double.script = [say("x", tokens=(cost - 1, 1))]
        ask = {"prompt": "The quick"}
        counts = Counter(at_once(CALLS, lambda: str(me.again().post("/api/ai/copilot", ask).status)))
        assert set(counts) <= {"200", "429", "503"}
        while me.post("/api/ai/copilot", ask).status != 429:
            counts["200"] += 1
        me.post("/api/ai/copilot", ask).fails(429, "AI_BUDGET_USED")
        assert counts["200"] <= len(double.asked) == ROOM
        assert used(me) == ROOM * cost

    def test_settle_releases_unused_tokens(self, me: Person) -> None:
        with me.app.app_context():
            first = meter(me.id)
            first.reserve(ROOM * EACH, MAX_USED)
            with pytest.raises(BudgetUsed):
                meter(me.id).reserve(1, MAX_USED)
            first.count(100, 50)
            first.settle()
            first.settle()
            meter(me.id).reserve(ROOM * EACH - 150, MAX_USED)
        assert used(me) == ROOM * EACH

    def test_second_prompt_releases_unused_tokens_of_the_first(self, me: Person) -> None:
        with me.app.app_context():
            running = meter(me.id)
            running.reserve(ROOM * EACH, MAX_USED)
            running.count(100, 50)
            running.reserve(ROOM * EACH - 150, MAX_USED)
            with pytest.raises(BudgetUsed):
                running.reserve(ROOM * EACH, MAX_USED)
            running.reserve(EACH, MAX_USED)
            assert used(me) == 150 + EACH
            running.settle()
        assert used(me) == 150

    @pytest.mark.parametrize(("report", "charged"), [(EACH + 300, EACH + 300), (10 * ROOM * EACH, 3 * EACH)])
    def test_report_above_the_reservation_is_charged_up_to_a_plausible_number(
        self, me: Person, report: int, charged: int
    ) -> None:
        with me.app.app_context(), structlog.testing.capture_logs() as lines:
            running = meter(me.id)
            running.reserve(EACH, 3 * EACH)
            running.count(report - 7, 7)
            running.settle()
            row = db.session.execute(
                sa.select(AiUsage.input_tokens, AiUsage.output_tokens).where(AiUsage.user_id == me.id)
            ).one()
        assert used(me) == charged
        assert tuple(row) == (report - 7, 7)
        assert [line["event"] for line in lines] == ["ai.usage_above_reservation"]

    def test_report_above_the_reservation_reduces_the_next_reservation(self, me: Person) -> None:
        with me.app.app_context():
            running = meter(me.id)
            running.reserve(EACH, MAX_USED)
            running.count(ROOM * EACH - 10, 0)
            with pytest.raises(BudgetUsed):
                running.reserve(11, MAX_USED)
            running.settle()
            with pytest.raises(BudgetUsed):
                meter(me.id).reserve(11, MAX_USED)
            meter(me.id).reserve(10, MAX_USED)
        assert used(me) == ROOM * EACH

    def test_call_with_own_key_is_not_charged(self, me: Person) -> None:
        with me.app.app_context():
            meter(me.id, own_key=True).reserve(10**9, MAX_USED)
        assert used(me) == 0


class TestRunningCalls:
    def test_parallel_calls_reserve_at_most_the_stream_limit(self, me: Person) -> None:
        with me.app.app_context():
            meters = [meter(me.id, handler="chat", own_key=True) for _ in range(CALLS)]
        assert Counter(at_once(CALLS, lambda: reserved(me, meters.pop())))["taken"] == LIMITS.streams

    def test_second_prompt_of_a_call_reserves_no_further_stream(self, me: Person) -> None:
        with me.app.app_context():
            running = [meter(me.id, handler="chat", own_key=True) for _ in range(LIMITS.streams)]
            for each in running:
                each.reserve(1, MAX_USED)
                each.reserve(1, MAX_USED)
            with pytest.raises(TooManyStreams):
                meter(me.id, handler="chat", own_key=True).reserve(1, MAX_USED)
            running[0].settle()
            meter(me.id, handler="chat", own_key=True).reserve(1, MAX_USED)
            rows = db.session.scalar(sa.select(sa.func.count()).where(AiUsage.user_id == me.id))
        assert rows == LIMITS.streams + 1

    def test_unknown_user_raises_not_authenticated(self, me: Person) -> None:
        with me.app.app_context(), pytest.raises(NotAuthenticated):
            meter("usr_gone").reserve(1, MAX_USED)


class TestNextDay:
    @pytest.mark.parametrize(
        ("now", "next_"),
        [
            (datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
            (datetime(2026, 12, 31, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
        ],
    )
    def test_next_day_begins_at_midnight_utc(self, now: datetime, next_: datetime) -> None:
        assert next_day(now) == next_
