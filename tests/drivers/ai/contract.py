"""What is true of every provider of models, whatever its wire format; each implementation inherits these tests."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import structlog

from app.core.cancellation import Cancellation
from app.drivers.ai.port import (
    Access,
    AnswerShape,
    Event,
    Garbled,
    KeyRejected,
    Message,
    Model,
    OutOfCredit,
    Prompt,
    Role,
    Stop,
    StopReason,
    TextDelta,
    Tool,
    ToolCall,
    ToolDelta,
    ToolStart,
    Usage,
)
from app.drivers.errors import Absent, Broken, Rejected, Throttled
from app.drivers.http import HttpClient
from app.drivers.http_streaming import Cancelled, Cut, Patience, TimedOut
from tests.doubles.ai import AiDouble, say

KEY = "sk-very-secret"
ACCESS = Access("model-1", KEY)
HURRIED = Patience(connect_s=0.4, first_byte_s=0.4, idle_s=0.4, total_s=5)
PROMPT = Prompt("Be brief.", (Message(Role.USER, "Say hello"),), 64)
SHAPE = AnswerShape(
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

    def events(self, model: Model, prompt: Prompt = PROMPT, patience: Patience = HURRIED) -> list[Event]:
        return [event for batch in model.ask(prompt, ACCESS, patience=patience).batches() for event in batch]

    def text(self, events: list[Event]) -> str:
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    def test_text_comes_in_pieces_with_usage_and_ends_with_stop(self, model: Model, double: AiDouble) -> None:
        double.script = [say("Grüß", " dich", " 🌍", tokens=(12, 5))]
        events = self.events(model)
        assert [e.text for e in events if isinstance(e, TextDelta)] == ["Grüß", " dich", " 🌍"]
        assert [e for e in events if isinstance(e, Usage)][-1].output_tokens == 5
        assert max(e.input_tokens or 0 for e in events if isinstance(e, Usage)) == 12
        assert events[-1] == Stop(StopReason.STOP)

    def test_model_limit_and_key_are_sent_and_the_key_only_as_the_header(self, model: Model, double: AiDouble) -> None:
        self.events(model)
        assert double.last.body["model"] == "model-1"
        assert double.last.body["max_tokens"] == 64
        assert KEY in str(double.last.headers)
        assert KEY not in str(double.last.body)

    @pytest.mark.parametrize(
        ("told", "reason"), [("length", StopReason.LENGTH), ("content_filter", StopReason.FILTERED)]
    )
    def test_reason_of_the_end_is_told(self, model: Model, double: AiDouble, told: str, reason: StopReason) -> None:
        double.script = [say("Cut", reason=told)]
        assert self.events(model)[-1] == Stop(reason)

    def test_calls_of_tools_come_with_their_arguments_in_pieces(self, model: Model, double: AiDouble) -> None:
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

    def test_answers_of_tools_go_back_in_the_format_of_the_wire(self, model: Model, double: AiDouble) -> None:
        call = ToolCall("call_1", "search_files", '{"query": "a"}')
        other = ToolCall("call_2", "search_files", '{"query": "b"}')
        said = (
            Message(Role.USER, "Find"),
            Message(Role.ASSISTANT, "", (call, other)),
            Message(Role.TOOL, "one.md", call_id="call_1"),
            Message(Role.TOOL, "two.md", call_id="call_2"),
        )
        self.events(model, Prompt("s", said, 64, tools=(SEARCH,)))
        self.check_tool_history(double.last.body["messages"])

    def check_tool_history(self, messages: list[dict[str, object]]) -> None:
        raise NotImplementedError

    def test_answer_in_a_shape_is_the_text(self, model: Model, double: AiDouble) -> None:
        double.script = [say('{"a": ', '"b"}')]
        events = self.events(model, Prompt("s", PROMPT.messages, 64, shape=SHAPE))
        assert self.text(events) == '{"a": "b"}'
        assert events[-1] == Stop(StopReason.STOP)
        assert SHAPE.schema["properties"] == self.schema_sent(double.last.body)["properties"]

    def schema_sent(self, body: dict[str, object]) -> dict[str, object]:
        raise NotImplementedError

    @pytest.mark.parametrize(
        ("status", "failure"),
        [(401, KeyRejected), (403, KeyRejected), (402, OutOfCredit), (400, Rejected), (404, Rejected), (500, Broken),
         (503, Broken), (529, Broken), (302, Broken)],
    )  # fmt: skip
    def test_refusals_are_told_apart(
        self, model: Model, double: AiDouble, status: int, failure: type[Exception]
    ) -> None:
        double.fault = status
        with pytest.raises(failure) as caught:
            model.ask(PROMPT, ACCESS, patience=HURRIED)
        assert type(caught.value) is failure

    def test_wrong_key_answered_with_400_is_a_wrong_key(self, model: Model, double: AiDouble) -> None:
        double.fault, double.fault_body = 400, b'[{"error": {"message": "API key not valid."}}]'
        with pytest.raises(KeyRejected):
            model.ask(PROMPT, ACCESS, patience=HURRIED)

    def test_rate_limit_carries_the_wait_it_asks_for(self, model: Model, double: AiDouble) -> None:
        double.fault, double.fault_headers = 429, {"Retry-After": "7"}
        with pytest.raises(Throttled) as caught:
            model.ask(PROMPT, ACCESS, patience=HURRIED)
        assert caught.value.retry_after_s == 7

    def test_page_for_an_answer_is_broken(self, model: Model, double: AiDouble) -> None:
        double.fault = "html"
        with pytest.raises(Garbled):
            model.ask(PROMPT, ACCESS, patience=HURRIED)

    def test_nobody_there_is_absent(self) -> None:
        with socket.socket() as unused, AiDouble() as double:
            unused.bind(("127.0.0.1", 0))
            double.root = f"http://127.0.0.1:{unused.getsockname()[1]}"
            double.url = f"{double.root}/v1"
            with pytest.raises(Absent):
                self.make(double, HttpClient()).ask(PROMPT, ACCESS, patience=HURRIED)

    def test_silence_before_the_answer_times_out(self, model: Model, double: AiDouble) -> None:
        double.fault = "silent"
        with pytest.raises(TimedOut):
            model.ask(PROMPT, ACCESS, patience=HURRIED)

    @pytest.mark.parametrize("keep_alive", [True, False])
    def test_silence_within_the_answer_times_out(self, model: Model, double: AiDouble, keep_alive: bool) -> None:
        double.fault, double.keep_alive = "stall", keep_alive
        start = time.monotonic()
        with pytest.raises(TimedOut):
            self.events(model, patience=Patience(idle_s=0.4))
        assert time.monotonic() - start < 2
        double.wait_closed(double.last, 2)

    def test_answer_without_end_is_ended_by_the_total(self, model: Model, double: AiDouble) -> None:
        double.fault = "endless"
        start = time.monotonic()
        with pytest.raises((TimedOut, Garbled)):
            self.events(model, patience=Patience(total_s=0.8))
        assert time.monotonic() - start < 2

    @pytest.mark.parametrize(
        ("fault", "failure"),
        [("reset", Cut), ("cut", Cut), ("garbage", Garbled), ("error", Garbled), ("no-events", Garbled)],
    )
    def test_answer_that_breaks_off_is_never_taken_for_whole(
        self, model: Model, double: AiDouble, fault: str, failure: type[Exception]
    ) -> None:
        double.fault = fault
        with pytest.raises(failure):
            self.events(model)

    @pytest.mark.parametrize("keep_alive", [True, False])
    def test_close_ends_the_call_from_another_thread(self, model: Model, double: AiDouble, keep_alive: bool) -> None:
        double.fault, double.keep_alive = "stall", keep_alive
        answer = model.ask(PROMPT, ACCESS, patience=Patience())
        threading.Timer(0.3, answer.close).start()
        start = time.monotonic()
        with pytest.raises(Cancelled):
            list(answer.batches())
        assert time.monotonic() - start < 2
        double.wait_closed(double.last, 2)

    @pytest.mark.parametrize("kept", [False, True])
    def test_call_that_is_given_up_before_its_answer_ends_at_once(
        self, model: Model, double: AiDouble, kept: bool
    ) -> None:
        if kept:
            self.events(model)
        double.fault, cancellation = "silent", Cancellation()
        threading.Timer(0.3, cancellation.cancel).start()
        start = time.monotonic()
        with pytest.raises(Cancelled):
            model.ask(PROMPT, ACCESS, patience=Patience(), cancellation=cancellation)
        assert time.monotonic() - start < 2
        double.wait_closed(double.last, 2)

    def test_call_that_is_given_up_amid_its_answer_ends_at_once(self, model: Model, double: AiDouble) -> None:
        double.fault, cancellation = "stall", Cancellation()
        answer = model.ask(PROMPT, ACCESS, patience=Patience(), cancellation=cancellation)
        threading.Timer(0.3, cancellation.cancel).start()
        with pytest.raises(Cancelled):
            list(answer.batches())
        double.wait_closed(double.last, 2)

    def test_call_that_was_given_up_before_is_not_made(self, model: Model, double: AiDouble) -> None:
        cancellation = Cancellation()
        cancellation.cancel()
        with pytest.raises(Cancelled):
            model.ask(PROMPT, ACCESS, patience=HURRIED, cancellation=cancellation)
        assert double.asked == []

    def test_giving_up_what_has_ended_does_not_end_the_next_call_on_the_connection(
        self, model: Model, double: AiDouble
    ) -> None:
        cancellation = Cancellation()
        ended = model.ask(PROMPT, ACCESS, patience=HURRIED, cancellation=cancellation)
        list(ended.batches())
        running = model.ask(PROMPT, ACCESS, patience=HURRIED)
        cancellation.cancel()
        assert self.text([event for batch in running.batches() for event in batch]) == "Hello"
        assert double.asked[0].headers["x-port"] == double.last.headers["x-port"]

    def test_connection_serves_the_next_call(self, model: Model, double: AiDouble) -> None:
        ports = set()
        for _ in range(3):
            self.events(model)
            ports.add(double.last.headers["x-port"])
        assert len(ports) == 1

    def test_no_log_line_holds_the_key_or_the_prompt(self, model: Model, double: AiDouble) -> None:
        with structlog.testing.capture_logs() as lines:
            self.events(model)
            double.fault = 401
            double.fault_body = f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode()
            with pytest.raises(KeyRejected) as caught:
                model.ask(PROMPT, ACCESS, patience=HURRIED)
        assert [line["event"] for line in lines].count("outbound.call") == 2
        assert KEY not in str(lines) + str(caught.value) + repr(ACCESS)
        assert "Say hello" not in str(lines)
