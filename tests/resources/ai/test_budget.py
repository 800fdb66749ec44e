"""Tests of charges and of the daily budget of the operator's tokens: estimates, disconnects, races and invalid counts."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import sqlalchemy as sa
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from app.core.limits import AiLimits
from app.drivers.ai.port import Message, MessageRole, OutputSchema, Prompt, Tool, ToolCall
from app.drivers.ai.tokens import ERROR, estimate_tokens
from app.extensions import db
from app.models.ai_usage import AiBudget
from app.resources.ai import prompts
from config import Settings
from tests.drivers.ai.test_tokens import REFERENCE, sample
from tests.resources.ai.conftest import Limits
from tests.resources.ai.questions import ASK, BODIES, GOOD, STREAMS, wait_for
from tests.support.doubles.ai import AiDouble, ModelReply, say
from tests.support.parallel import at_once
from tests.support.world import Person

BUDGET = 500_000
TEXTS = {
    "chinese": "更新茶叶页面的标题和说明。",
    "emoji": "👩‍👩‍👧‍👦🫖🍵",
    "thai": "เอกสารเกี่ยวกับชาเขียว",
    "english": "The quick brown fox drinks tea. ",
}
INVALID_COUNTS = [-1000, True, "7", 1e30, 10**30, 1.5, None]


@pytest.fixture(params=["openai", "anthropic"])
def wire(app: Flask, double: AiDouble, request: pytest.FixtureRequest) -> str:
    """The wire format of the operator's model."""
    settings: Settings = app.config["SETTINGS"]
    upstream = dataclasses.replace(settings.ai.anthropic, api_key="operator-secret-key", base_url=double.root)
    ai = dataclasses.replace(settings.ai, provider=request.param, anthropic=upstream)
    app.config["SETTINGS"] = dataclasses.replace(settings, ai=ai)
    return str(request.param)


def most_tokens(body: dict[str, Any]) -> int:
    """Return the input tokens of a tokenizer that counts every text as high as the stated error permits."""
    prompt = [body.get("system", ""), body["messages"], body.get("tools", []), body.get("response_format", "")]
    return int(sum(map(estimate_tokens, _texts(prompt))) * (1 + ERROR))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *_texts(inner)) if isinstance(key, str) else _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def used(person: Person) -> int:
    return int(person.get("/ai/usage").ok()["budget"]["used"])


def disconnect_after(person: Person, characters: int) -> int:
    """Read a stream until it has that much text, close it, and return the status."""
    response = person.client.post("/api/ai/command", json=ASK, buffered=False)
    received = 0
    for frame in response.response:
        events = [orjson.loads(line[6:]) for line in frame.split(b"\n\n") if line.startswith(b"data: {")]
        received += sum(len(event.get("delta", "")) for event in events)
        if received >= characters:
            break
    response.close()
    return response.status_code


class TestDisconnect:
    @pytest.mark.parametrize("name", REFERENCE)
    def test_stream_closed_early_is_charged_for_the_received_text(
        self, me: Person, double: AiDouble, wire: str, name: str
    ) -> None:
        double.script, double.fault = [say(sample(name), sample(name), tokens=(11, 7))], "stall"
        double.fault_at = 2 if wire == "openai" else 4
        disconnect_after(me, len(sample(name)))
        wait_for(lambda: me.get("/ai/usage").ok()["running"] == 0)
        usage = me.get("/ai/usage").ok()
        assert usage["output_tokens"] == pytest.approx(REFERENCE[name], rel=ERROR)
        assert (usage["input_tokens"] == 11) == (wire == "anthropic")
        assert usage["budget"]["used"] == usage["input_tokens"] + usage["output_tokens"]

    def test_many_streams_closed_early_do_not_exceed_the_budget(
        self, me: Person, double: AiDouble, wire: str, limits: Limits
    ) -> None:
        limits.set(operator_tokens_a_day=9_000)
        double.script, double.fault, double.fault_at = [say(*["tea " * 25] * 30, tokens=(500, 3000))], "stall", 25
        statuses = []
        for _ in range(20):
            statuses.append(disconnect_after(me, 2000))
            wait_for(lambda: me.get("/ai/usage").ok()["running"] == 0)
        assert set(statuses) == {200, 429}
        assert 500 * statuses.count(200) <= used(me) <= 9_000


class TestFailureAfterTheModelAnswered:
    @pytest.mark.parametrize("handler", STREAMS)
    def test_call_ends_if_the_response_has_no_database_connection(
        self, me: Person, double: AiDouble, handler: str
    ) -> None:
        def refuse(*_: object) -> None:
            raise sa.exc.TimeoutError("no connection is free")

        def answer(_body: dict[str, Any]) -> ModelReply:
            with me.app.app_context():
                sa.event.listen(db.engine, "checkout", refuse, once=True)
            return GOOD[handler]

        double.answer_to = answer
        assert me.post(f"/api/ai/{handler}", BODIES[handler]).status == 503
        usage = me.get("/ai/usage").ok()
        assert usage["running"] == 0
        assert usage["budget"]["used"] == usage["input_tokens"] + usage["output_tokens"] > 0


class TestLanguages:
    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
    def test_large_diffs_do_not_exceed_the_budget(self, me: Person, double: AiDouble, wire: str, text: str) -> None:
        reported = []

        def answer(body: dict[str, Any]) -> ModelReply:
            reported.append(most_tokens(body) + 256)
            return dataclasses.replace(GOOD["commit"], tokens=(most_tokens(body), 256))

        double.answer_to = answer
        diff = (text * 200_000)[: min(160_000, 360_000 // len(text[0].encode()))]
        statuses = [me.post("/api/ai/commit", {"diff": diff}).status for _ in range(12)]
        assert set(statuses) <= {200, 429}
        assert sum(reported) <= BUDGET
        assert used(me) == sum(reported)

    def test_later_requests_are_accepted_until_the_budget_is_used(self, me: Person, double: AiDouble) -> None:
        """160,000 Chinese characters are 120,000 tokens of the budget of 500,000."""
        double.script = [dataclasses.replace(GOOD["commit"], tokens=(120_000, 30))]
        diff = (TEXTS["chinese"] * 20_000)[:160_000]
        assert [me.post("/api/ai/commit", {"diff": diff}).status for _ in range(4)] == [200, 200, 200, 429]
        assert me.post("/api/ai/commit", BODIES["commit"]).status == 200
        assert 3 * 120_030 < used(me) < 3 * 120_030 + 5_000

    @given(st.text(), st.text(), st.booleans())
    def test_reservation_covers_the_estimate_and_its_error(self, system: str, text: str, has_tools: bool) -> None:
        tools = (Tool("search", text, {"description": text}),) if has_tools else ()
        prompt = Prompt(system, (Message(MessageRole.USER, text),), 10, tools)
        texts = estimate_tokens(system) + estimate_tokens(text)
        assert prompt.estimated_input_tokens <= prompt.reserved_input_tokens <= prompt.max_input_tokens
        assert prompt.reserved_input_tokens >= min(texts * (1 + ERROR), prompt.max_input_tokens)

    @given(st.text(), st.lists(st.text(), min_size=1, max_size=4), st.lists(st.text(), max_size=3), st.booleans())
    def test_input_bound_covers_one_token_per_byte(
        self, system: str, texts: list[str], arguments: list[str], is_shaped: bool
    ) -> None:
        calls = tuple(ToolCall("call_1", "read_file", text) for text in arguments)
        schema = OutputSchema("answer", {"type": "object", "description": system}) if is_shaped else None
        tools = tuple(Tool("search", text, {"description": text}) for text in arguments)
        messages = tuple(Message(MessageRole.USER, text, calls) for text in texts)
        prompt = Prompt(system, messages, 10, tools, schema)
        every_text = [system, *texts, *(arguments * len(texts)), *arguments * 2, system if is_shaped else ""]
        assert prompt.max_input_tokens > sum(len(text.encode("utf-8", "surrogatepass")) for text in every_text)


class TestInvalidCounts:
    @pytest.mark.parametrize("count", INVALID_COUNTS)
    def test_invalid_count_of_the_provider_is_estimated(
        self, me: Person, double: AiDouble, wire: str, count: object
    ) -> None:
        double.script = [say("tea", tokens=(count, count))]
        usage = me.post("/api/ai/copilot", BODIES["copilot"]).ok()["usage"]
        # The random mark of each prompt changes its estimate by a few tokens.
        prompt = prompts.copilot(BODIES["copilot"]["prompt"], None)
        assert usage["inputTokens"] == pytest.approx(prompt.estimated_input_tokens, abs=12)
        assert usage["outputTokens"] == 1
        assert used(me) == usage["totalTokens"] == usage["inputTokens"] + 1


class TestRace:
    def test_parallel_calls_of_the_largest_cost_do_not_exceed_the_budget(
        self, me: Person, double: AiDouble, limits: Limits
    ) -> None:
        """The provider reports the whole reservation of each call, so the budget covers exactly four."""
        prompt = prompts.copilot("x", None)
        cost = prompt.reserved_input_tokens + AiLimits.copilot_tokens
        limits.set(operator_tokens_a_day=4 * cost + cost // 2)
        double.script = [say("x", tokens=(prompt.reserved_input_tokens, AiLimits.copilot_tokens), pause_s=0.02)]
        answers = Counter(at_once(16, lambda: me.again().post("/api/ai/copilot", {"prompt": "x"}).status))
        assert set(answers) <= {200, 429, 503}
        while me.post("/api/ai/copilot", {"prompt": "x"}).status != 429:
            answers[200] += 1
        assert answers[200] <= len(double.asked) == 4
        with me.app.app_context():
            assert db.session.scalar(sa.select(AiBudget.tokens).where(AiBudget.user_id == me.id)) == 4 * cost
