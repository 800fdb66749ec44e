"""The messages API."""

from typing import Any

import pytest

from app.drivers.ai.anthropic import Anthropic, EventReading
from app.drivers.ai.port import Garbled, Model, TextDelta, Usage
from app.drivers.http import HttpClient
from tests.doubles.ai import AiDouble
from tests.drivers.ai.contract import KEY, ModelContract


class TestAnthropic(ModelContract):
    def make(self, double: AiDouble, http: HttpClient) -> Model:
        return Anthropic(double.root, http=http)

    def check_tool_history(self, messages: list[dict[str, Any]]) -> None:
        assert [m["role"] for m in messages] == ["user", "assistant", "user"]
        assert [b["input"] for b in messages[1]["content"]] == [{"query": "a"}, {"query": "b"}]
        assert [(b["type"], b["tool_use_id"]) for b in messages[2]["content"]] == [
            ("tool_result", "call_1"),
            ("tool_result", "call_2"),
        ]

    def schema_sent(self, body: dict[str, Any]) -> dict[str, Any]:
        assert body["tool_choice"] == {"type": "tool", "name": "answer"}
        found: dict[str, Any] = body["tools"][0]["input_schema"]
        return found

    def test_version_and_key_stand_in_their_headers(self, model: Model, double: AiDouble) -> None:
        self.events(model)
        assert double.last.path == "/v1/messages"
        assert double.last.headers["anthropic-version"] == "2023-06-01"
        assert double.last.headers["x-api-key"] == KEY
        assert double.last.body["system"] == "Be brief."


class TestEventReading:
    def test_kinds_of_the_future_are_passed_over(self) -> None:
        reading = EventReading(shaped=False)
        assert reading.take({"type": "new_thing", "x": 1}) == ()
        assert reading.take({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta"}}) == ()

    def test_text_a_block_starts_with_is_not_lost(self) -> None:
        start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}
        assert EventReading(shaped=False).take(start) == (TextDelta("Hi"),)

    def test_words_beside_the_shape_are_no_part_of_the_answer(self) -> None:
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Sure!"}}
        assert EventReading(shaped=True).take(delta) == ()

    def test_cached_input_is_counted(self) -> None:
        usage = {
            "input_tokens": 5,
            "cache_read_input_tokens": 90,
            "cache_creation_input_tokens": None,
            "output_tokens": 1,
        }
        assert EventReading(shaped=False).take({"type": "message_start", "message": {"usage": usage}}) == [Usage(95, 1)]

    @pytest.mark.parametrize(
        "data",
        [{}, {"type": 7}, {"type": "message_start"}, {"type": "content_block_delta", "index": 0, "delta": 3},
         {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{"}},
         {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 4}}],
    )  # fmt: skip
    def test_wrong_types_are_garbled(self, data: dict[str, Any]) -> None:
        with pytest.raises(Garbled):
            EventReading(shaped=False).take(data)
