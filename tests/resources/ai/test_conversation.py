"""Tests of conversations with a model: reservation, counting, settlement, cancellation and errors."""

from collections.abc import Callable

import pytest

from app.core.errors import AppError, PermissionDenied
from app.drivers.ai.port import (
    ApiKeyRejected,
    Event,
    HiddenDelta,
    InsufficientCredit,
    Message,
    MessageRole,
    Prompt,
    StopReason,
    TextDelta,
    TokenUsage,
    ToolDelta,
    ToolStart,
)
from app.drivers.errors import (
    DriverError,
    UpstreamError,
    UpstreamRejected,
    UpstreamThrottled,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.drivers.http.streaming import CallCancelled
from app.resources.ai.conversation import closing, error_text, translate_error
from app.resources.ai.errors import ProviderBusy
from tests.resources.ai.fakes import FakeMeter, FakeModel, conversation, text_events

PROMPT = Prompt("s" * 30, (Message(MessageRole.USER, "u" * 60),), 100)
INPUT = PROMPT.estimated_input_tokens


class TestAsk:
    def test_complete_reserves_tokens_before_the_call_and_counts_the_reply(self) -> None:
        meter = FakeMeter()
        said = conversation(FakeModel(text_events("a", "b", tokens=(12, 7))), meter).complete(PROMPT)
        assert (said.text, said.reason, said.input_tokens, said.output_tokens) == ("ab", StopReason.STOP, 12, 7)
        assert (meter.reserved, meter.counted) == (
            [(PROMPT.reserved_input_tokens + 100, PROMPT.max_input_tokens + 100)],
            [(12, 7)],
        )

    def test_reply_without_a_count_is_estimated(self) -> None:
        meter = FakeMeter()
        conversation(FakeModel(text_events("one two three", tokens=None)), meter).complete(PROMPT)
        assert meter.counted == [(INPUT, 3)]

    def test_reply_that_fails_is_counted_by_the_received_text(self) -> None:
        meter = FakeMeter()
        with pytest.raises(UpstreamError):
            conversation(FakeModel([TextDelta("one two three"), UpstreamError("cut")]), meter).complete(PROMPT)
        assert meter.counted == [(INPUT, 3)]

    @pytest.mark.parametrize(
        ("events", "output_tokens"),
        [
            ([TokenUsage(12), TextDelta("one"), TextDelta(" two"), TextDelta(" three")], 3),
            ([TokenUsage(12), TextDelta("one " * 999)], 100),
            ([TokenUsage(12), TextDelta("\u8336" * 20)], 17),
            ([TokenUsage(12), HiddenDelta("one two three")], 3),
            ([TokenUsage(12), ToolStart("call_1", "read_file"), ToolDelta("call_1", "{}")], 4),
            ([TextDelta("one two three"), TokenUsage(12, 40)], 40),
            ([TextDelta("one"), TokenUsage(12, 1), TextDelta(" two three")], 3),
            ([TextDelta("one"), TokenUsage(12, 1), TextDelta(" two"), TokenUsage(12, 2)], 2),
            ([TextDelta("one two three"), TokenUsage(12, 0)], 3),
            ([TextDelta("one two three"), TokenUsage(12, 140)], 140),
        ],
    )
    def test_incomplete_reply_is_counted_by_the_report_and_the_text_after_it(
        self, events: list[Event | Exception], output_tokens: int
    ) -> None:
        meter = FakeMeter()
        with closing(conversation(FakeModel([*events, UpstreamError("cut")]), meter)) as talk:
            reading = talk.stream(PROMPT).batches()
            for _ in events:
                next(reading)
        assert meter.counted == [(12, output_tokens)]

    def test_complete_reply_with_a_count_of_zero_is_estimated(self) -> None:
        meter = FakeMeter()
        conversation(FakeModel(text_events("one two three", tokens=(0, 0))), meter).complete(PROMPT)
        assert meter.counted == [(INPUT, 3)]

    def test_reply_closed_unread_is_counted_with_its_input(self) -> None:
        meter = FakeMeter()
        with closing(conversation(FakeModel(text_events("a")), meter)) as talk:
            talk.stream(PROMPT)
        assert meter.counted == [(INPUT, 0)]

    def test_call_canceled_before_the_reply_is_counted_with_its_input(self) -> None:
        meter = FakeMeter()
        with pytest.raises(CallCancelled):
            conversation(FakeModel(CallCancelled("gone")), meter).stream(PROMPT)
        assert (meter.counted, meter.settled) == ([(INPUT, 0)], 1)

    def test_rejected_call_is_settled_and_not_counted(self) -> None:
        meter = FakeMeter()
        with pytest.raises(UpstreamError):
            conversation(FakeModel(UpstreamError("no")), meter).stream(PROMPT)
        assert (meter.counted, meter.settled) == ([], 1)

    def test_stream_after_cancel_raises_without_call_or_reservation(self) -> None:
        model, meter = FakeModel(text_events("a")), FakeMeter()
        talk = conversation(model, meter)
        talk.cancel()
        with pytest.raises(CallCancelled):
            talk.stream(PROMPT)
        assert (model.asked, meter.reserved) == ([], [])

    def test_closing_closes_the_stream_and_settles(self) -> None:
        model, meter = FakeModel(text_events("a")), FakeMeter()
        with closing(conversation(model, meter)) as talk:
            talk.stream(PROMPT)
        assert (model.closed, meter.settled) == (1, 1)


class TestWatch:
    def test_watch_starts_with_the_first_call_and_ends_once(self) -> None:
        noted: list[str] = []

        def watch(left: Callable[[], None]) -> Callable[[], None]:
            noted.append("begun")
            return lambda: noted.append("ended")

        talk = conversation(FakeModel(text_events("a"), text_events("b")), watch=watch)
        assert noted == []
        with closing(talk):
            talk.complete(PROMPT)
            talk.complete(PROMPT)
            assert noted == ["begun"]
        assert noted == ["begun", "ended"]

    def test_disconnected_caller_cancels_the_next_call(self) -> None:
        gone: list[Callable[[], None]] = []

        def watch(left: Callable[[], None]) -> Callable[[], None]:
            gone.append(left)
            return lambda: None

        talk = conversation(FakeModel(text_events("a"), text_events("b")), watch=watch)
        talk.complete(PROMPT)
        gone[0]()
        with pytest.raises(CallCancelled):
            talk.complete(PROMPT)


class TestTranslateError:
    @pytest.mark.parametrize(
        ("error", "own", "house"),
        [
            (ApiKeyRejected(), ApiKeyRejected, UpstreamUnavailable),
            (InsufficientCredit("pay"), UpstreamRejected, UpstreamUnavailable),
            (UpstreamThrottled("slow", retry_after_s=9), ProviderBusy, UpstreamThrottled),
            (UpstreamError("b"), UpstreamError, UpstreamError),
            (UpstreamTimeout("l"), UpstreamTimeout, UpstreamTimeout),
        ],
    )
    def test_operator_key_error_becomes_unavailable(
        self, error: DriverError, own: type[Exception], house: type[Exception]
    ) -> None:
        assert type(translate_error(error, own_key=True)) is own
        assert type(translate_error(error, own_key=False)) is house

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (CallCancelled("x"), "The request was canceled"),
            (PermissionDenied(), PermissionDenied().message),
            (UpstreamError("The provider broke"), "The provider broke"),
            (ValueError("row 7 of table x"), AppError.message),
        ],
    )
    def test_error_text_hides_internal_errors(self, error: Exception, said: str) -> None:
        assert error_text(error) == said
