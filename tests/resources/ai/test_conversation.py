"""Dealings with a model: what is reserved, counted, settled, cancelled, and how failures are told."""

from collections.abc import Callable

import pytest

from app.core.errors import AppError, NotAllowed
from app.drivers.ai.port import KeyRejected, Message, OutOfCredit, Prompt, Role, StopReason, TextDelta
from app.drivers.errors import Absent, Broken, DriverError, Late, Rejected, Throttled
from app.drivers.http_streaming import Cancelled
from app.resources.ai.conversation import closing, sentence, told
from app.resources.ai.errors import ProviderBusy
from tests.resources.ai.fakes import FakeMeter, FakeModel, conversation, words

PROMPT = Prompt("s" * 30, (Message(Role.USER, "u" * 60),), 100)


class TestAsk:
    def test_tokens_are_reserved_before_the_question_and_counted_after_the_answer(self) -> None:
        meter = FakeMeter()
        said = conversation(FakeModel(words("a", "b", tokens=(12, 7))), meter).say(PROMPT)
        assert (said.text, said.reason, said.input_tokens, said.output_tokens) == ("ab", StopReason.STOP, 12, 7)
        assert (meter.reserved, meter.counted) == ([90 // 3 + 100], [(12, 7)])

    def test_uncounted_answer_is_estimated(self) -> None:
        meter = FakeMeter()
        conversation(FakeModel(words("x" * 9, tokens=None)), meter).say(PROMPT)
        assert meter.counted == [(90 // 4, 3)]

    def test_answer_that_breaks_off_is_counted_as_far_as_it_came(self) -> None:
        meter = FakeMeter()
        with pytest.raises(Broken):
            conversation(FakeModel([TextDelta("x" * 8), Broken("cut")]), meter).say(PROMPT)
        assert meter.counted == [(90 // 4, 2)]

    def test_refused_question_is_settled_and_costs_nothing(self) -> None:
        meter = FakeMeter()
        with pytest.raises(Broken):
            conversation(FakeModel(Broken("no")), meter).ask(PROMPT)
        assert (meter.counted, meter.settled) == ([], 1)

    def test_after_cancelling_nothing_is_asked_or_reserved(self) -> None:
        model, meter = FakeModel(words("a")), FakeMeter()
        talk = conversation(model, meter)
        talk.cancel()
        with pytest.raises(Cancelled):
            talk.ask(PROMPT)
        assert (model.asked, meter.reserved) == ([], [])

    def test_everything_ends_with_the_block(self) -> None:
        model, meter = FakeModel(words("a")), FakeMeter()
        with closing(conversation(model, meter)) as talk:
            talk.ask(PROMPT)
        assert (model.closed, meter.settled) == (1, 1)


class TestWatch:
    def test_caller_is_watched_from_the_first_question_to_the_end_and_once(self) -> None:
        noted: list[str] = []

        def watch(left: Callable[[], None]) -> Callable[[], None]:
            noted.append("begun")
            return lambda: noted.append("ended")

        talk = conversation(FakeModel(words("a"), words("b")), watch=watch)
        assert noted == []
        with closing(talk):
            talk.say(PROMPT)
            talk.say(PROMPT)
            assert noted == ["begun"]
        assert noted == ["begun", "ended"]

    def test_caller_who_left_is_asked_for_no_further_time(self) -> None:
        gone: list[Callable[[], None]] = []

        def watch(left: Callable[[], None]) -> Callable[[], None]:
            gone.append(left)
            return lambda: None

        talk = conversation(FakeModel(words("a"), words("b")), watch=watch)
        talk.say(PROMPT)
        gone[0]()
        with pytest.raises(Cancelled):
            talk.say(PROMPT)


class TestTold:
    @pytest.mark.parametrize(
        ("error", "own", "house"),
        [
            (KeyRejected(), KeyRejected, Absent),
            (OutOfCredit("pay"), Rejected, Absent),
            (Throttled("slow", retry_after_s=9), ProviderBusy, Throttled),
            (Broken("b"), Broken, Broken),
            (Late("l"), Late, Late),
        ],
    )
    def test_fault_of_the_operators_key_is_none_of_the_callers(
        self, error: DriverError, own: type[Exception], house: type[Exception]
    ) -> None:
        assert type(told(error, own_key=True)) is own
        assert type(told(error, own_key=False)) is house

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (Cancelled("x"), "This was ended"),
            (NotAllowed(), NotAllowed().message),
            (Broken("The provider broke"), "The provider broke"),
            (ValueError("row 7 of table x"), AppError.message),
        ],
    )
    def test_reader_hears_a_sentence_and_nothing_of_our_faults(self, error: Exception, said: str) -> None:
        assert sentence(error) == said
