"""Tests of the chat completions driver with the variants of compatible servers."""

from typing import Any

import orjson
import pytest

from app.drivers.ai.openai_compatible import ChunkParser, OpenAiCompatible
from app.drivers.ai.port import (
    Event,
    HiddenDelta,
    InvalidModelResponse,
    Model,
    ModelAccess,
    Prompt,
    Stop,
    StopReason,
    TextDelta,
    ToolDelta,
    ToolStart,
)
from app.drivers.http.client import HttpClient
from tests.drivers.ai.contract import PROMPT, SHORT_TIMEOUTS, ModelContract
from tests.support.doubles.ai import AiDouble


class TestOpenAiCompatible(ModelContract):
    def make(self, double: AiDouble, http: HttpClient) -> Model:
        return OpenAiCompatible(double.url, http=http)

    def check_tool_history(self, messages: list[dict[str, Any]]) -> None:
        assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "tool"]
        assert [c["function"]["arguments"] for c in messages[2]["tool_calls"]] == ['{"query": "a"}', '{"query": "b"}']
        assert messages[2]["content"] is None
        assert [m["tool_call_id"] for m in messages[3:]] == ["call_1", "call_2"]

    def schema_sent(self, body: dict[str, Any]) -> dict[str, Any]:
        assert body["response_format"]["json_schema"]["strict"] is True
        found: dict[str, Any] = body["response_format"]["json_schema"]["schema"]
        return found

    def test_request_without_a_key_has_no_authorization(self, double: AiDouble) -> None:
        model = OpenAiCompatible(double.url + "/", http=HttpClient())
        list(model.stream(PROMPT, ModelAccess("m", None), timeouts=SHORT_TIMEOUTS).batches())
        assert "authorization" not in double.last.headers
        assert double.last.path == "/v1/chat/completions"

    def test_openai_receives_the_newer_name_of_the_limit(self) -> None:
        model = OpenAiCompatible("https://api.openai.com/v1", http=HttpClient())
        body = model._body(Prompt("s", PROMPT.messages, 50), "gpt")
        assert body["max_completion_tokens"] == 50
        assert "max_tokens" not in body


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": reason}]}


class TestChunkReading:
    def test_complete_calls_without_an_index_are_two_calls(self) -> None:
        reading = ChunkParser()
        calls = [
            {"id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "function": {"name": "g", "arguments": "{}"}},
        ]
        events = reading.feed(chunk({"tool_calls": calls}, "stop"))
        assert events == [ToolStart("a", "f"), ToolDelta("a", "{}"), ToolStart("b", "g"), ToolDelta("b", "{}")]
        assert reading.end() == [Stop(StopReason.TOOLS)]

    def test_call_without_an_id_receives_a_generated_id(self) -> None:
        events = ChunkParser().feed(chunk({"tool_calls": [{"index": 0, "id": "", "function": {"name": "f"}}]}))
        assert events == [ToolStart("call_0", "f")]

    @pytest.mark.parametrize(
        ("content", "events"),
        [
            ([{"type": "text", "text": "one two"}], [TextDelta("one two")]),
            ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}], [HiddenDelta("hm")]),
            (
                [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "one"}, {"type": "text", "text": " two"}],
                [HiddenDelta("hm"), TextDelta("one"), TextDelta(" two")],
            ),
            ([{"type": "output_text", "text": "one"}, "two"], [TextDelta("one"), TextDelta("two")]),
            ({"type": "text", "text": "one"}, [TextDelta("one")]),
            ([{"type": "reference", "reference_ids": [1]}, {"type": "text", "text": None}, None], []),
            ([{"type": "reasoning", "reasoning": "hm"}, {"type": "refusal", "refusal": "no"}], [HiddenDelta("hm"), HiddenDelta("no")]),
            ([], []),
        ],
    )  # fmt: skip
    def test_parts_of_a_content_are_text_or_hidden(self, content: Any, events: list[Event]) -> None:
        assert ChunkParser().feed(chunk({"content": content})) == events

    @pytest.mark.parametrize(
        "pieces",
        [
            [{"index": 0, "id": "c", "function": {"arguments": '{"a":'}}, {"index": 0, "function": {"name": "f", "arguments": " 1}"}}],
            [{"index": 0, "id": "c", "function": {"arguments": '{"a": 1}'}}, {"index": 0, "function": {"name": "f"}}],
            [{"index": 0, "id": "c"}, {"index": 0, "function": {"arguments": '{"a": 1}'}}, {"index": 0, "function": {"name": "f"}}],
            [{"index": 0, "id": "c", "function": {"name": "", "arguments": '{"a": 1}'}}, {"index": 0, "id": "c", "function": {"name": "f"}}],
            [{"id": "c", "function": {"arguments": '{"a": 1'}}, {"id": "c", "function": {"name": "f", "arguments": "}"}}],
            [{"id": "c", "function": {"arguments": '{"a": 1'}}, {"function": {"name": "f"}}, {"function": {"arguments": "}"}}],
            [{"index": None, "id": "c", "function": {"name": "f"}}, {"index": None, "function": {"name": None, "arguments": '{"a": 1}'}}],
            [{"index": 0, "id": "c", "function": {"name": "f", "arguments": {"a": 1}}}],
            [{"index": 0, "id": "c", "function": {"name": "f"}}, {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        ],
    )  # fmt: skip
    def test_parts_of_one_call_in_any_order_are_one_call(self, pieces: list[dict[str, Any]]) -> None:
        reading = ChunkParser()
        events = [event for piece in pieces for event in reading.feed(chunk({"tool_calls": [piece]}))]
        events += reading.feed(chunk({}, "tool_calls"))
        assert events[0] == ToolStart("c", "f")
        assert orjson.loads("".join(event.text for event in events[1:] if isinstance(event, ToolDelta))) == {"a": 1}
        assert reading.end() == [Stop(StopReason.TOOLS)]

    @pytest.mark.parametrize(
        ("pieces", "ids"),
        [
            ([{"id": "a", "function": {"name": "f", "arguments": "1"}}, {"id": "b", "function": {"name": "g", "arguments": "2"}}], "ab"),
            ([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}}, {"index": 0, "id": "b", "function": {"name": "g", "arguments": "2"}}], "ab"),
            ([{"function": {"name": "f", "arguments": "1"}}, {"function": {"name": "g", "arguments": "2"}}], None),
            ([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}}, {"index": 1, "id": "a", "function": {"name": "g", "arguments": "2"}}], None),
            ([{"index": 1, "id": "b", "function": {"arguments": "2"}}, {"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}},
              {"index": 1, "function": {"name": "g"}}], "ab"),
        ],
    )  # fmt: skip
    def test_calls_are_separate_in_every_form(self, pieces: list[dict[str, Any]], ids: str | None) -> None:
        reading = ChunkParser()
        events = [event for piece in pieces for event in reading.feed(chunk({"tool_calls": [piece]}))]
        names = {event.name: event.call_id for event in events if isinstance(event, ToolStart)}
        arguments = {event.call_id: event.text for event in events if isinstance(event, ToolDelta)}
        assert [arguments[names["f"]], arguments[names["g"]]] == ["1", "2"]
        assert ids is None or names == {"f": ids[0], "g": ids[1]}

    def test_call_without_a_name_is_an_incomplete_reply(self) -> None:
        reading = ChunkParser()
        assert reading.feed(chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}, "tool_calls")) == []
        with pytest.raises(InvalidModelResponse):
            reading.end()

    def test_null_content_and_empty_choices_yield_nothing(self) -> None:
        reading = ChunkParser()
        assert reading.feed(chunk({"content": None})) == []
        assert reading.feed({"choices": []}) == []
        assert reading.feed({"choices": None, "usage": None}) == []

    @pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "refusal"])
    def test_reasoning_is_a_hidden_delta(self, field: str) -> None:
        assert ChunkParser().feed(chunk({field: "Hm", "content": None})) == [HiddenDelta("Hm")]

    def test_stop_reason_is_yielded_at_the_end(self) -> None:
        reading = ChunkParser()
        assert reading.feed(chunk({"content": "x"}, "eos")) == [TextDelta("x")]
        assert reading.end() == [Stop(StopReason.OTHER)]

    @pytest.mark.parametrize(
        "data",
        [
            {"choices": [7]},
            {"choices": 7},
            chunk({"content": 7}),
            chunk({"content": [7]}),
            chunk({"content": [{"type": "text", "text": 7}]}),
            chunk({"tool_calls": [7]}),
            chunk({"tool_calls": [{"index": 0, "id": 7}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"name": 7}}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": 7}}]}),
            {"usage": [1], "choices": []},
        ],
    )
    def test_wrong_types_are_invalid_responses(self, data: dict[str, Any]) -> None:
        with pytest.raises(InvalidModelResponse):
            ChunkParser().feed(data)
