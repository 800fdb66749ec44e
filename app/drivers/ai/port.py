"""What Galley asks of a language model, whoever serves it and in whatever wire format.

Every implementation passes `tests/drivers/ai/contract.py`. A model is asked with one key for one request; nothing of
either is kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from app.core.cancellation import Cancellation
from app.drivers.errors import Broken, DriverError, Rejected
from app.drivers.http_streaming import Patience


class KeyRejected(Rejected):
    """The provider does not take the key (401, 403)."""

    def __init__(self) -> None:
        super().__init__("The model provider does not accept this key", code="AI_KEY_REJECTED")


class OutOfCredit(DriverError):
    """The provider wants to be paid first (402)."""


class Garbled(Broken):
    """What came is no answer in the provider's wire format, or ended before its end."""


class Role(StrEnum):
    """Who says a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True)
class ToolCall:
    """A model's wish to have a tool run; `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One turn. `calls` stand on an assistant's, `call_id` on the tool's answer to one of them."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True)
class Tool:
    """Something the model may ask for; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class AnswerShape:
    """The JSON object an answer has to be; `schema` names every property as required and forbids others."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Prompt:
    """All that a model is told. With `shape` the answer's text is JSON of that shape."""

    system: str
    messages: tuple[Message, ...]
    max_tokens: int
    tools: tuple[Tool, ...] = ()
    shape: AnswerShape | None = None

    @property
    def characters(self) -> int:
        """How much text goes to the model, for estimating its tokens."""
        said = sum(len(each.text) + sum(len(call.arguments) for call in each.calls) for each in self.messages)
        return len(self.system) + said


@dataclass(frozen=True)
class Access:
    """Which model, with whose key; None for servers that want none."""

    model: str
    key: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some more of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStart:
    """The model begins to ask for a tool."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolDelta:
    """Some more of a tool call's arguments."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens so far, as the provider counts them; a later one replaces what it tells anew."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class StopReason(StrEnum):
    """Why an answer ended, in the words of the AI SDK."""

    STOP = "stop"
    LENGTH = "length"
    FILTERED = "content-filter"
    TOOLS = "tool-calls"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stop:
    """The answer is whole; always the last event."""

    reason: StopReason


Event = TextDelta | ToolStart | ToolDelta | Usage | Stop


class ModelAnswer(Protocol):
    """An answer on its way."""

    def batches(self) -> Iterator[Sequence[Event]]:
        """The events, together as they arrived together; the last one is Stop. None now and then, while none comes.

        Raises:
            Garbled: what comes is no answer, an error of the provider's own, or ends before its end.
            TimedOut: silence for too long, or no end in time.
            Cancelled: `close` was called meanwhile.
        """

    def close(self) -> None:
        """End the call to the provider, from whatever thread."""


class Model(Protocol):
    """One provider of models. Safe to share between greenlets."""

    def ask(
        self, prompt: Prompt, access: Access, *, patience: Patience, cancellation: Cancellation | None = None
    ) -> ModelAnswer:
        """Send the prompt and wait until the provider has said yes (2xx).

        `cancellation` ends the call at any moment: before the provider said anything, or amid the answer.

        Raises:
            Cancelled: the call was given up.
            KeyRejected: the key is not taken.
            OutOfCredit: the provider wants to be paid first.
            Throttled: the key's rate limit is used up.
            Rejected: the provider refuses the prompt or does not know the model.
            Broken, Absent, Late: it does not work, cannot be reached, or says nothing.
        """


class Models:
    """The configured providers by name."""

    def __init__(self, providers: Mapping[str, Model]) -> None:
        self._providers = dict(providers)

    def __getitem__(self, provider: str) -> Model:
        return self._providers[provider]

    def __contains__(self, provider: object) -> bool:
        return provider in self._providers
