"""Fake model, meter and conversation without a network."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.core.limits import AiLimits
from app.drivers.ai.port import (
    Event,
    ModelAccess,
    Prompt,
    Stop,
    StopReason,
    TextDelta,
    TokenUsage,
    ToolDelta,
    ToolStart,
)
from app.resources.ai.conversation import Conversation
from app.resources.ai.credentials import Credentials

LIMITS = AiLimits()


def text_events(
    *texts: str, reason: StopReason = StopReason.STOP, tokens: tuple[int, int] | None = (10, 5)
) -> list[Event]:
    """Return the events of a text answer."""
    counted: list[Event] = [TokenUsage(*tokens)] if tokens else []
    return [*(TextDelta(text) for text in texts), *counted, Stop(reason)]


def calls(*wanted: tuple[str, str], tokens: tuple[int, int] = (10, 5)) -> list[Event]:
    """Return the events of an answer that calls tools `(name, arguments)`."""
    events: list[Event] = []
    for number, (name, arguments) in enumerate(wanted):
        events += [ToolStart(f"call_{number}", name), ToolDelta(f"call_{number}", arguments)]
    return [*events, TokenUsage(*tokens), Stop(StopReason.TOOLS)]


class FakeModel:
    """A model that gives its answers in order. It raises an exception at its position in the events, or instead of an answer."""

    def __init__(self, *answers: Sequence[Event | Exception] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Prompt] = []
        self.closed = 0

    def stream(self, prompt: Prompt, access: ModelAccess, **_: Any) -> "FakeAnswer":
        self.asked.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return FakeAnswer(self, answer)


class FakeAnswer:
    """Stream of a scripted answer with one event per batch."""

    def __init__(self, model: FakeModel, events: Sequence[Event | Exception]) -> None:
        self._model, self._events = model, events

    def batches(self) -> Iterator[Sequence[Event]]:
        for event in self._events:
            if isinstance(event, Exception):
                raise event
            yield [event]

    def close(self) -> None:
        self._model.closed += 1


class FakeMeter:
    """A meter that records reservations, counts and settlements."""

    def __init__(self) -> None:
        self.reserved: list[tuple[int, int]] = []
        self.counted: list[tuple[int, int]] = []
        self.settled = 0

    def reserve(self, tokens: int, max_tokens: int) -> None:
        self.reserved.append((tokens, max_tokens))

    def count(self, input_tokens: int, output_tokens: int) -> None:
        self.counted.append((input_tokens, output_tokens))

    def settle(self) -> None:
        self.settled += 1


def conversation(model: FakeModel, meter: FakeMeter | None = None, *, own: bool = True, **more: Any) -> Conversation:
    """Return a conversation with this model."""
    credentials = Credentials("openai", ModelAccess("m", "key"), own)
    return Conversation(model, credentials, meter or FakeMeter(), LIMITS, 60, **more)  # type: ignore[arg-type]
