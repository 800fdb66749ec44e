"""Tests of the driver of the Messages API."""

from typing import Any

import pytest

from app.drivers.ai.anthropic import Anthropic, MessageEventParser
from app.drivers.ai.port import HiddenDelta, InvalidModelResponse, Model, TextDelta, TokenUsage, ToolDelta, ToolStart
from app.drivers.http.client import HttpClient
from tests.drivers.ai.contract import KEY, ModelContract
from tests.support.doubles.ai import AiDouble


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

    def test_request_headers_contain_version_and_key(self, model: Model, double: AiDouble) -> None:
        self.events(model)
        assert double.last.path == "/v1/messages"
        assert double.last.headers["anthropic-version"] == "2023-06-01"
        assert double.last.headers["x-api-key"] == KEY
        assert double.last.body["system"] == "Be brief."


class TestEventReading:
    def test_unknown_event_types_are_ignored(self) -> None:
        reading = MessageEventParser(is_shaped=False)
        assert reading.feed({"type": "new_thing", "x": 1}) == ()
        assert reading.feed({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta"}}) == ()

    def test_text_of_a_block_start_is_yielded(self) -> None:
        start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}
        assert MessageEventParser(is_shaped=False).feed(start) == (TextDelta("Hi"),)

    def test_input_of_a_block_start_is_yielded(self) -> None:
        block = {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a.md"}}
        start = {"type": "content_block_start", "index": 0, "content_block": block}
        events = (ToolStart("t", "read_file"), ToolDelta("t", '{"path":"a.md"}'))
        assert MessageEventParser(is_shaped=False).feed(start) == events

    def test_text_next_to_a_forced_tool_call_is_hidden(self) -> None:
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Sure!"}}
        assert MessageEventParser(is_shaped=True).feed(delta) == (HiddenDelta("Sure!"),)

    def test_thinking_is_hidden(self) -> None:
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}}
        assert MessageEventParser(is_shaped=False).feed(delta) == (HiddenDelta("Hm"),)

    def test_cached_input_is_counted(self) -> None:
        usage = {
            "input_tokens": 5,
            "cache_read_input_tokens": 90,
            "cache_creation_input_tokens": None,
            "output_tokens": 1,
        }
        assert MessageEventParser(is_shaped=False).feed({"type": "message_start", "message": {"usage": usage}}) == [
            TokenUsage(95, None)
        ]

    @pytest.mark.parametrize(
        "data",
        [{}, {"type": 7}, {"type": "message_start"}, {"type": "content_block_delta", "index": 0, "delta": 3},
         {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{"}},
         {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 4}}],
    )  # fmt: skip
    def test_wrong_types_are_invalid_responses(self, data: dict[str, Any]) -> None:
        with pytest.raises(InvalidModelResponse):
            MessageEventParser(is_shaped=False).feed(data)
