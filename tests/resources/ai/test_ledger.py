"""The budget and the places under many calls at once, decided in the database."""

import dataclasses
from collections import Counter
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from app.core.errors import AppError, NotSignedIn, Unavailable
from app.core.limits import AiLimits
from app.extensions import db
from app.models.ai_usage import AiBudget, AiUsage
from app.resources.ai import prompts
from app.resources.ai.errors import BudgetUsed, TooManyStreams
from app.resources.ai.ledger import Entry, Meter, next_day
from tests.doubles.ai import AiDouble, say
from tests.resources.ai.conftest import Limits
from tests.together import at_once
from tests.world import Person

CALLS, ROOM, EACH = 100, 10, 1000
LIMITS = dataclasses.replace(AiLimits(), operator_tokens_a_day=ROOM * EACH)


def meter(user_id: str, *, handler: str = "copilot", own_key: bool = False) -> Meter:
    return Meter(db.engine, LIMITS, Entry(user_id, None, handler, "openai", "m", own_key))


def used(person: Person) -> int:
    with person.app.app_context():
        return db.session.scalar(sa.select(AiBudget.tokens).where(AiBudget.user_id == person.id)) or 0


def reserved(person: Person, made: Meter) -> str:
    """Whether there was room; a database with too much to do is asked again."""
    while True:
        try:
            with person.app.app_context():
                made.reserve(EACH)
        except (Unavailable, sa.exc.OperationalError, sa.exc.TimeoutError):
            continue
        except AppError as error:
            return error.code
        return "taken"


class TestBudget:
    def test_hundred_calls_at_once_get_exactly_what_there_is(self, me: Person) -> None:
        with me.app.app_context():
            meters = [meter(me.id) for _ in range(CALLS)]
        told = Counter(at_once(CALLS, lambda: reserved(me, meters.pop())))
        assert told == {"taken": ROOM, "AI_BUDGET_USED": CALLS - ROOM}
        assert used(me) == ROOM * EACH

    def test_hundred_requests_at_once_spend_no_more_than_there_is(
        self, me: Person, double: AiDouble, limits: Limits
    ) -> None:
        """Each costs all that it reserves, so that ten of them are the whole budget."""
        prompt = prompts.copilot("The quick", None)
        cost = prompt.characters // 3 + prompt.max_tokens
        limits.set(operator_tokens_a_day=ROOM * cost)
        double.script = [say("x", tokens=(cost - 1, 1))]
        ask = {"prompt": "The quick"}
        told = Counter(at_once(CALLS, lambda: str(me.again().post("/api/ai/copilot", ask).status)))
        assert set(told) <= {"200", "429", "503"}
        while told["200"] < ROOM and me.post("/api/ai/copilot", ask).status == 200:
            told["200"] += 1
        me.post("/api/ai/copilot", ask).fails(429, "AI_BUDGET_USED")
        assert told["200"] == len(double.asked) == ROOM
        assert used(me) == ROOM * cost

    def test_what_was_not_spent_is_there_again(self, me: Person) -> None:
        with me.app.app_context():
            first = meter(me.id)
            first.reserve(ROOM * EACH)
            with pytest.raises(BudgetUsed):
                meter(me.id).reserve(1)
            first.count(100, 50)
            first.settle()
            first.settle()
            meter(me.id).reserve(ROOM * EACH - 150)
        assert used(me) == ROOM * EACH

    def test_own_key_takes_nothing_of_it(self, me: Person) -> None:
        with me.app.app_context():
            meter(me.id, own_key=True).reserve(10**9)
        assert used(me) == 0


class TestPlaces:
    def test_hundred_calls_at_once_get_four(self, me: Person) -> None:
        with me.app.app_context():
            meters = [meter(me.id, handler="chat", own_key=True) for _ in range(CALLS)]
        assert Counter(at_once(CALLS, lambda: reserved(me, meters.pop())))["taken"] == LIMITS.streams

    def test_further_question_of_one_call_needs_no_further_place(self, me: Person) -> None:
        with me.app.app_context():
            running = [meter(me.id, handler="chat", own_key=True) for _ in range(LIMITS.streams)]
            for each in running:
                each.reserve(1)
                each.reserve(1)
            with pytest.raises(TooManyStreams):
                meter(me.id, handler="chat", own_key=True).reserve(1)
            running[0].settle()
            meter(me.id, handler="chat", own_key=True).reserve(1)
            rows = db.session.scalar(sa.select(sa.func.count()).where(AiUsage.user_id == me.id))
        assert rows == LIMITS.streams + 1

    def test_user_who_is_gone_is_not_signed_in(self, me: Person) -> None:
        with me.app.app_context(), pytest.raises(NotSignedIn):
            meter("usr_gone").reserve(1)


class TestNextDay:
    @pytest.mark.parametrize(
        ("now", "next_"),
        [
            (datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
            (datetime(2026, 12, 31, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
        ],
    )
    def test_budget_is_whole_again_at_midnight(self, now: datetime, next_: datetime) -> None:
        assert next_day(now) == next_
