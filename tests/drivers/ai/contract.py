"""Contract of model providers. The test class of each implementation inherits it."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from app.concurrency.cancellation import Cancellation
from app.drivers.ai.port import (
    MAX_REPORTED_TOKENS,
    ApiKeyRejected,
    Event,
    InsufficientCredit,
    InvalidModelResponse,
    Message,
    MessageRole,
    Model,
    ModelAccess,
    OutputSchema,
    Prompt,
    Stop,
    StopReason,
    TextDelta,
    TokenUsage,
    Tool,
    ToolCall,
    ToolDelta,
    ToolStart,
)
from app.drivers.errors import UpstreamError, UpstreamRejected, UpstreamThrottled, UpstreamUnavailable
from app.drivers.http.client import HttpClient
from app.drivers.http.streaming import CallCancelled, ResponseTimeout, ResponseTruncated, StreamTimeouts
from tests.support.doubles.ai import AiDouble, say
from tests.support.pace import within

KEY = "sk-very-secret"
ACCESS = ModelAccess("model-1", KEY)
SHORT_TIMEOUTS = StreamTimeouts(connect_s=within(0.4), first_byte_s=within(0.4), idle_s=within(0.4), total_s=within(5))
PROMPT = Prompt("Be brief.", (Message(MessageRole.USER, "Say hello"),), 64)
SHAPE = OutputSchema(
    "answer",
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
)
SEARCH = Tool("search_files", "Find files", {"type": "object", "properties": {"query": {"type": "string"}}})


class ModelContract:
    def make(self, double: AiDouble, http: HttpClient) -> Model:
        raise NotImplementedError

    @pytest.fixture
    def double(self) -> Iterator[AiDouble]:
        with AiDouble() as made:
            yield made

    @pytest.fixture
    def model(self, double: AiDouble) -> Iterator[Model]:
        http = HttpClient()
        yield self.make(double, http)
        http.close()

    def events(self, model: Model, prompt: Prompt = PROMPT, timeouts: StreamTimeouts = SHORT_TIMEOUTS) -> list[Event]:
        return [event for batch in model.stream(prompt, ACCESS, timeouts=timeouts).batches() for event in batch]

    def text(self, events: list[Event]) -> str:
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    def test_reply_yields_text_usage_and_stop(self, model: Model, double: AiDouble) -> None:
        double.script = [say("Grüß", " dich", " 🌍", tokens=(12, 5))]
        events = self.events(model)
        assert [e.text for e in events if isinstance(e, TextDelta)] == ["Grüß", " dich", " 🌍"]
        assert [e for e in events if isinstance(e, TokenUsage)][-1].output_tokens == 5
        assert max(e.input_tokens or 0 for e in events if isinstance(e, TokenUsage)) == 12
        assert events[-1] == Stop(StopReason.STOP)

    @pytest.mark.parametrize("count", [-5, True, "7", 1.5, 1e30, 10**30, MAX_REPORTED_TOKENS + 1, None, [7], {"n": 7}])
    def test_usage_with_an_invalid_count_is_not_reported(self, model: Model, double: AiDouble, count: Any) -> None:
        double.script = [say("Hello", tokens=(count, count))]
        events = self.events(model)
        assert {e for e in events if isinstance(e, TokenUsage)} == {TokenUsage(None, None)}
        assert (self.text(events), events[-1]) == ("Hello", Stop(StopReason.STOP))

    def test_request_contains_model_and_limit_and_the_key_in_a_header_only(
        self, model: Model, double: AiDouble
    ) -> None:
        self.events(model)
        assert double.last.body["model"] == "model-1"
        assert double.last.body["max_tokens"] == 64
        assert KEY in str(double.last.headers)
        assert KEY not in str(double.last.body)

    @pytest.mark.parametrize(
        ("told", "reason"), [("length", StopReason.LENGTH), ("content_filter", StopReason.FILTERED)]
    )
    def test_stop_reason_is_reported(self, model: Model, double: AiDouble, told: str, reason: StopReason) -> None:
        double.script = [say("Cut", reason=told)]
        assert self.events(model)[-1] == Stop(reason)

    def test_tool_calls_yield_their_arguments_in_pieces(self, model: Model, double: AiDouble) -> None:
        double.script = [
            say("Let me look.", calls=[("search_files", {"query": "über"}), ("search_files", {"query": "b"})])
        ]
        events = self.events(model, Prompt("s", PROMPT.messages, 64, tools=(SEARCH,)))
        starts = [e for e in events if isinstance(e, ToolStart)]
        joined = {
            s.call_id: "".join(e.text for e in events if isinstance(e, ToolDelta) and e.call_id == s.call_id)
            for s in starts
        }
        assert [s.name for s in starts] == ["search_files", "search_files"]
        assert list(joined.values()) == ['{"query": "\\u00fcber"}', '{"query": "b"}']
        assert events[-1] == Stop(StopReason.TOOLS)

    def test_tool_results_are_sent_in_the_wire_format(self, model: Model, double: AiDouble) -> None:
        call = ToolCall("call_1", "search_files", '{"query": "a"}')
        other = ToolCall("call_2", "search_files", '{"query": "b"}')
        said = (
            Message(MessageRole.USER, "Find"),
            Message(MessageRole.ASSISTANT, "", (call, other)),
            Message(MessageRole.TOOL, "one.md", call_id="call_1"),
            Message(MessageRole.TOOL, "two.md", call_id="call_2"),
        )
        self.events(model, Prompt("s", said, 64, tools=(SEARCH,)))
        self.check_tool_history(double.last.body["messages"])

    def check_tool_history(self, messages: list[dict[str, object]]) -> None:
        raise NotImplementedError

    def test_shaped_reply_is_the_text(self, model: Model, double: AiDouble) -> None:
        double.script = [say('{"a": ', '"b"}')]
        events = self.events(model, Prompt("s", PROMPT.messages, 64, shape=SHAPE))
        assert self.text(events) == '{"a": "b"}'
        assert events[-1] == Stop(StopReason.STOP)
        assert SHAPE.schema["properties"] == self.schema_sent(double.last.body)["properties"]

    def schema_sent(self, body: dict[str, object]) -> dict[str, object]:
        raise NotImplementedError

    @pytest.mark.parametrize(
        ("status", "failure"),
        [(401, ApiKeyRejected), (403, ApiKeyRejected), (402, InsufficientCredit), (400, UpstreamRejected), (404, UpstreamRejected), (500, UpstreamError),
         (503, UpstreamError), (529, UpstreamError), (302, UpstreamError)],
    )  # fmt: skip
    def test_refusals_raise_different_errors(
        self, model: Model, double: AiDouble, status: int, failure: type[Exception]
    ) -> None:
        double.fault = status
        with pytest.raises(failure) as caught:
            model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS)
        assert type(caught.value) is failure

    def test_status_400_for_a_wrong_key_raises_key_rejected(self, model: Model, double: AiDouble) -> None:
        double.fault, double.fault_body = 400, b'[{"error": {"message": "API key not valid."}}]'
        with pytest.raises(ApiKeyRejected):
            model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS)

    def test_rate_limit_contains_the_requested_wait(self, model: Model, double: AiDouble) -> None:
        double.fault, double.fault_headers = 429, {"Retry-After": "7"}
        with pytest.raises(UpstreamThrottled) as caught:
            model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS)
        assert caught.value.retry_after_s == 7

    def test_html_page_is_an_invalid_response(self, model: Model, double: AiDouble) -> None:
        double.fault = "html"
        with pytest.raises(InvalidModelResponse):
            model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS)

    def test_unreachable_provider_is_unavailable(self) -> None:
        with socket.socket() as unused, AiDouble() as double:
            unused.bind(("127.0.0.1", 0))
            double.root = f"http://127.0.0.1:{unused.getsockname()[1]}"
            double.url = f"{double.root}/v1"
            with pytest.raises(UpstreamUnavailable):
                self.make(double, HttpClient()).stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS)

    def test_silence_before_the_response_times_out(self, model: Model, double: AiDouble) -> None:
        double.fault = "silent"
        with pytest.raises(ResponseTimeout):
            model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS)

    @pytest.mark.parametrize("keep_alive", [True, False])
    def test_silence_within_the_response_times_out(self, model: Model, double: AiDouble, keep_alive: bool) -> None:
        double.fault, double.keep_alive = "stall", keep_alive
        start = time.monotonic()
        with pytest.raises(ResponseTimeout):
            self.events(model, timeouts=StreamTimeouts(idle_s=0.4))
        assert time.monotonic() - start < within(2)
        double.wait_closed(double.last, 2)

    def test_endless_response_ends_at_the_total_limit(self, model: Model, double: AiDouble) -> None:
        double.fault = "endless"
        start = time.monotonic()
        with pytest.raises((ResponseTimeout, InvalidModelResponse)):
            self.events(model, timeouts=StreamTimeouts(total_s=0.8))
        assert time.monotonic() - start < within(2)

    @pytest.mark.parametrize(
        ("fault", "failure"),
        [
            ("reset", ResponseTruncated),
            ("cut", ResponseTruncated),
            ("garbage", InvalidModelResponse),
            ("error", InvalidModelResponse),
            ("no-events", InvalidModelResponse),
        ],
    )
    def test_incomplete_response_raises(
        self, model: Model, double: AiDouble, fault: str, failure: type[Exception]
    ) -> None:
        double.fault = fault
        with pytest.raises(failure):
            self.events(model)

    @pytest.mark.parametrize("keep_alive", [True, False])
    def test_close_ends_the_call_from_another_thread(self, model: Model, double: AiDouble, keep_alive: bool) -> None:
        double.fault, double.keep_alive = "stall", keep_alive
        answer = model.stream(PROMPT, ACCESS, timeouts=StreamTimeouts())
        threading.Timer(0.3, answer.close).start()
        start = time.monotonic()
        with pytest.raises(CallCancelled):
            list(answer.batches())
        assert time.monotonic() - start < within(2)
        double.wait_closed(double.last, 2)

    @pytest.mark.parametrize("kept", [False, True])
    def test_cancel_before_the_response_ends_the_call(self, model: Model, double: AiDouble, kept: bool) -> None:
        if kept:
            self.events(model)
        double.fault, cancellation = "silent", Cancellation()
        threading.Timer(0.3, cancellation.cancel).start()
        start = time.monotonic()
        with pytest.raises(CallCancelled):
            model.stream(PROMPT, ACCESS, timeouts=StreamTimeouts(), cancellation=cancellation)
        assert time.monotonic() - start < within(2)
        double.wait_closed(double.last, 2)

    def test_cancel_during_the_response_ends_the_call(self, model: Model, double: AiDouble) -> None:
        double.fault, cancellation = "stall", Cancellation()
        answer = model.stream(PROMPT, ACCESS, timeouts=StreamTimeouts(), cancellation=cancellation)
        threading.Timer(0.3, cancellation.cancel).start()
        with pytest.raises(CallCancelled):
            list(answer.batches())
        double.wait_closed(double.last, 2)

    def test_cancelled_call_is_not_sent(self, model: Model, double: AiDouble) -> None:
        cancellation = Cancellation()
        cancellation.cancel()
        with pytest.raises(CallCancelled):
            model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS, cancellation=cancellation)
        assert double.asked == []

    def test_cancel_after_the_end_does_not_affect_the_next_call(self, model: Model, double: AiDouble) -> None:
        cancellation = Cancellation()
        ended = model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS, cancellation=cancellation)
        list(ended.batches())
        running = model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS)
        cancellation.cancel()
        assert self.text([event for batch in running.batches() for event in batch]) == "Hello"
        assert double.asked[0].headers["x-port"] == double.last.headers["x-port"]

    def test_connection_is_reused(self, model: Model, double: AiDouble) -> None:
        ports = set()
        for _ in range(3):
            self.events(model)
            ports.add(double.last.headers["x-port"])
        assert len(ports) == 1

    def test_log_contains_no_key_and_no_prompt(self, model: Model, double: AiDouble) -> None:
        with structlog.testing.capture_logs() as lines:
            self.events(model)
            double.fault = 401
            double.fault_body = f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode()
            with pytest.raises(ApiKeyRejected) as caught:
                model.stream(PROMPT, ACCESS, timeouts=SHORT_TIMEOUTS)
        assert [line["event"] for line in lines].count("outbound.call") == 2
        assert KEY not in str(lines) + str(caught.value) + repr(ACCESS)
        assert "Say hello" not in str(lines)
