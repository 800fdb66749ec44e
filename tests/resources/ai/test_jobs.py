"""Retention of calls and budgets."""

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


def written_down(person: Person) -> None:
    """A call and a budget of a thousand tokens on each of these days."""
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
    def test_purge_deletes_old_calls_and_budgets_and_keeps_the_usage(self, world: World, me: Person) -> None:
        with me.app.app_context():
            written_down(me)
        shown = me.get("/ai/usage").ok()
        assert (shown["calls"], shown["input_tokens"], shown["budget"]["used"]) == (2, 1800, 1000)
        with me.app.app_context():
            assert jobs.purge_usage() >= 2 * (len(DAYS) - KEPT)
            assert (count_rows(me, AiUsage), count_rows(me, AiBudget)) == (KEPT, KEPT)
        assert me.get("/ai/usage").ok() == shown

    def test_call_that_runs_is_never_taken(self, me: Person, double: AiDouble) -> None:
        double.fault = "stall"
        response = me.client.post("/api/ai/command", json={"prompt": "x"}, buffered=False)
        next(iter(response.response))
        with me.app.app_context():
            jobs.purge_usage()
        assert me.get("/ai/usage").ok()["running"] == 1
        response.close()

    def test_it_is_done_every_day(self) -> None:
        assert registry["ai.purge"].every == timedelta(days=1)
