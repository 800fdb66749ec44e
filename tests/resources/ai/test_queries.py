"""Tests of the token usage and its limits."""

from app.extensions import db
from app.models.ai_usage import AiUsage
from tests.resources.ai.conftest import Limits
from tests.resources.ai.questions import ASK, BODIES, OWN, wait_for
from tests.resources.ai.streams import kinds, parts
from tests.support.doubles.ai import AiDouble, say
from tests.support.parallel import at_once
from tests.support.world import Person, World


class TestUsage:
    def test_tokens_are_counted_by_handler_and_key(self, me: Person, double: AiDouble) -> None:
        double.script = [say("a", tokens=(100, 10))]
        me.post("/api/ai/command", ASK).response.get_data()
        me.post("/api/ai/command", ASK, headers=OWN).response.get_data()
        me.post("/api/ai/copilot", BODIES["copilot"]).ok()
        used = me.get("/ai/usage").ok()
        row = {"calls": 1, "input_tokens": 100, "output_tokens": 10}
        assert used["by_handler"] == [
            {"handler": "command", "own_key": False, **row},
            {"handler": "command", "own_key": True, **row},
            {"handler": "copilot", "own_key": False, **row},
        ]
        assert (used["calls"], used["running"]) == (3, 0)
        assert used["budget"]["used"] == 220

    def test_reply_without_a_count_is_estimated(self, me: Person, double: AiDouble) -> None:
        double.script = [say("tea " * 100, tokens=None)]
        me.post("/api/ai/command", ASK).response.get_data()
        used = me.get("/ai/usage").ok()
        assert used["output_tokens"] == 100
        assert used["input_tokens"] > 20

    def test_repair_is_counted(self, me: Person, double: AiDouble) -> None:
        double.script = [say("x", tokens=(5, 1))]
        me.post("/api/ai/commit", BODIES["commit"]).fails(502)
        assert me.get("/ai/usage").ok()["input_tokens"] == 10

    def test_budget_exhausted_returns_429_except_with_own_key(
        self, me: Person, double: AiDouble, limits: Limits
    ) -> None:
        limits.set(operator_tokens_a_day=700)
        double.script = [say("x", tokens=(500, 50))]
        me.post("/api/ai/copilot", BODIES["copilot"]).ok()
        refused = me.post("/api/ai/copilot", BODIES["copilot"])
        refused.fails(429, "AI_BUDGET_USED")
        assert 1 <= int(refused.headers["Retry-After"]) <= 86400
        me.post("/api/ai/copilot", BODIES["copilot"], headers=OWN).ok()

    def test_failed_call_is_not_charged(self, me: Person, double: AiDouble) -> None:
        double.fault = 500
        me.post("/api/ai/copilot", BODIES["copilot"]).fails(502)
        assert me.get("/ai/usage").ok()["budget"]["used"] == 0

    def test_parallel_calls_do_not_exceed_the_budget(self, me: Person, double: AiDouble, limits: Limits) -> None:
        limits.set(operator_tokens_a_day=1000)
        double.script = [say("x", tokens=(200, 50), pause_s=0.1)]
        received = at_once(8, lambda: me.again().post("/api/ai/copilot", BODIES["copilot"]).status)
        used = me.get("/ai/usage").ok()["budget"]["used"]
        assert set(received) == {200, 429}
        assert used == 250 * received.count(200)

    def test_fifth_parallel_stream_returns_429_until_one_ends(self, me: Person, double: AiDouble) -> None:
        double.fault = "stall"
        open_ones = [me.client.post("/api/ai/command", json=ASK, buffered=False) for _ in range(4)]
        for response in open_ones:
            next(iter(response.response))
        refused = me.again().post("/api/ai/command", ASK, headers=OWN)
        refused.fails(429, "AI_TOO_MANY_STREAMS")
        double.fault = None
        me.again().post("/api/ai/copilot", BODIES["copilot"]).ok()
        open_ones[0].close()
        wait_for(lambda: me.get("/ai/usage").ok()["running"] == 3)
        assert kinds(parts(me.again().post("/api/ai/command", ASK)))[-1] == "finish"
        for response in open_ones[1:]:
            response.close()

    def test_parallel_streams_above_four_return_429(self, me: Person, double: AiDouble) -> None:
        double.script = [say("a", pause_s=0.4)]
        received = at_once(8, lambda: me.again().post("/api/ai/command", ASK).status)
        assert sorted(received) == [200] * 4 + [429] * 4

    def test_expired_calls_of_a_dead_worker_do_not_count(self, me: Person, double: AiDouble) -> None:
        from datetime import timedelta

        from app.models.base import utcnow_ms

        past = utcnow_ms() - timedelta(seconds=200)
        with me.app.app_context():
            for _ in range(4):
                db.session.add(
                    AiUsage(user_id=me.id, handler="chat", provider="openai", model="m", own_key=True, created_at=past,
                            expires_at=past + timedelta(seconds=150))
                )  # fmt: skip
            db.session.commit()
        assert me.post("/api/ai/command", ASK).status == 200

    def test_usage_contains_only_calls_of_the_caller(self, world: World, me: Person, double: AiDouble) -> None:
        me.post("/api/ai/copilot", BODIES["copilot"]).ok()
        assert world.person().get("/ai/usage").ok()["calls"] == 0
        world.anonymous().get("/ai/usage").fails(401)
