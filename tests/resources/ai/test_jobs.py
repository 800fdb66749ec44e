"""Tests of the retention of calls and budgets."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app.core.jobs import registry
from app.extensions import db
from app.models.ai_usage import AiBudget, AiUsage
from app.models.base import utcnow_ms
from app.resources.ai import jobs
from tests.support.doubles.ai import AiDouble
from tests.support.world import Person, World

DAYS = (0, 29, 31, 89, 91, 400)
KEPT = 4


def add_usage(person: Person) -> None:
    """Store a call and a budget of a thousand tokens for each of `DAYS`."""
    for days in DAYS:
        at = utcnow_ms() - timedelta(days=days)
        about: dict[str, Any] = {"handler": "chat", "provider": "openai", "model": "m", "own_key": False}
        spent = {"input_tokens": 900, "output_tokens": 100, "created_at": at, "expires_at": at, "ended_at": at}
        db.session.add(AiUsage(user_id=person.id, **about, **spent))
        db.session.add(AiBudget(user_id=person.id, day=at.date(), tokens=1000))
    db.session.commit()


def count_rows(person: Person, model: type[AiUsage] | type[AiBudget]) -> int:
    return db.session.scalar(sa.select(sa.func.count()).where(model.user_id == person.id)) or 0


class TestPurgeUsage:
    def test_purge_deletes_old_calls_and_budgets_without_a_change_of_the_usage(self, world: World, me: Person) -> None:
        with me.app.app_context():
            add_usage(me)
        shown = me.get("/ai/usage").ok()
        assert (shown["calls"], shown["input_tokens"], shown["budget"]["used"]) == (2, 1800, 1000)
        with me.app.app_context():
            assert jobs.purge_usage() >= 2 * (len(DAYS) - KEPT)
            assert (count_rows(me, AiUsage), count_rows(me, AiBudget)) == (KEPT, KEPT)
        assert me.get("/ai/usage").ok() == shown

    def test_running_call_is_not_deleted(self, me: Person, double: AiDouble) -> None:
        double.fault = "stall"
        response = me.client.post("/api/ai/command", json={"prompt": "x"}, buffered=False)
        next(iter(response.response))
        with me.app.app_context():
            jobs.purge_usage()
        assert me.get("/ai/usage").ok()["running"] == 1
        response.close()

    def test_purge_runs_every_day(self) -> None:
        assert registry["ai.purge"].every == timedelta(days=1)
