"""Port of language models: prompts, events of a reply, errors and the protocol of a provider.

Every implementation passes `tests/drivers/ai/contract.py`. A call uses one key for one prompt; a driver stores neither.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Protocol

from app.concurrency.cancellation import Cancellation
from app.drivers.ai import tokens
from app.drivers.errors import DriverError, UpstreamError, UpstreamRejected
from app.drivers.http.streaming import StreamTimeouts

MAX_REPORTED_TOKENS = 10_000_000
"""Largest token count of one call that is accepted: the largest context windows have this size."""
TOKENS_PER_PART = 32
"""Upper bound of the tokens that a chat template adds to a message, a tool call or a tool."""
TOKENS_OF_TOOL_PROMPT = 1024
"""Upper bound of the tokens that a provider adds to a prompt with tools. Anthropic documents up to 530."""
USUAL_TOKENS_PER_PART = 5
USUAL_TOKENS_OF_TOOL_PROMPT = 160
"""Usual values of the two bounds: OpenAI adds a few tokens to each part, Anthropic about 310 to a prompt with tools."""


class ApiKeyRejected(UpstreamRejected):
    """The provider rejects the key (401, 403)."""

    def __init__(self) -> None:
        super().__init__("The model provider does not accept this key", code="AI_KEY_REJECTED")


class InsufficientCredit(DriverError):
    """The provider requires a payment first (402)."""


class InvalidModelResponse(UpstreamError):
    """The response does not follow the wire format of the provider, or is incomplete."""


class MessageRole(StrEnum):
    """The author of a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True)
class ToolCall:
    """A tool call that a model requests. `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """A message of a conversation. `calls` belongs to the assistant, `call_id` to the result of a tool."""

    role: MessageRole
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True)
class Tool:
    """A tool that the model may call. `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class OutputSchema:
    """The JSON schema of a reply. `schema` requires every property and forbids all others."""

    name: str
    schema: Mapping[str, object]


@dataclass(frozen=True)
class Prompt:
    """The complete input of a model. With `shape`, the text of the reply is JSON of that schema."""

    system: str
    messages: tuple[Message, ...]
    max_tokens: int
    tools: tuple[Tool, ...] = ()
    shape: OutputSchema | None = None

    @property
    def max_input_tokens(self) -> int:
        """Return an upper bound of the input tokens for any language and tokenizer.

        A token covers at least one byte of UTF-8. Providers may escape JSON, so JSON counts in its escaped form.
        """
        template = self._template(TOKENS_PER_PART, TOKENS_OF_TOOL_PROMPT)
        return sum(map(utf8_size, self._texts)) + len(json.dumps(self._structures)) + template

    @property
    def estimated_input_tokens(self) -> int:
        """Return the estimated input tokens. They are charged if the provider reports no count."""
        return self._estimated_text + self._template(USUAL_TOKENS_PER_PART, USUAL_TOKENS_OF_TOOL_PROMPT)

    @property
    def reserved_input_tokens(self) -> int:
        """Return the input tokens to reserve: the estimate with its error, and the bound of the template."""
        reserved = math.ceil(self._estimated_text * (1 + tokens.ERROR))
        return min(reserved + self._template(TOKENS_PER_PART, TOKENS_OF_TOOL_PROMPT), self.max_input_tokens)

    @property
    def _texts(self) -> list[str]:
        return [self.system, *(message.text for message in self.messages)]

    @property
    def _structures(self) -> list[list[object]]:
        calls = [call for message in self.messages for call in message.calls]
        structures: list[list[object]] = [[call.id, call.name, call.arguments] for call in calls]
        structures += [[tool.name, tool.description, tool.parameters] for tool in self.tools]
        return structures + ([[self.shape.name, self.shape.schema]] if self.shape is not None else [])

    @cached_property
    def _estimated_text(self) -> int:
        structures = json.dumps(self._structures, ensure_ascii=False) if self._structures else ""
        return sum(map(tokens.estimate_tokens, [*self._texts, structures]))

    def _template(self, per_part: int, tool_prompt: int) -> int:
        parts = 1 + len(self.messages) + len(self._structures)
        return per_part * parts + (tool_prompt if self.tools or self.shape else 0)


def utf8_size(text: str) -> int:
    """Return the number of bytes of `text` in UTF-8, which is an upper bound of its tokens."""
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class ModelAccess:
    """Model name and key. The key is None for a server that needs no key."""

    model: str
    key: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Next piece of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStart:
    """Start of a tool call."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolDelta:
    """Next piece of the arguments of a tool call."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class HiddenDelta:
    """Next piece of output that is not part of the reply, for example reasoning. The provider charges it."""

    text: str


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of the call as the provider reports them. None for a count that is missing or invalid."""

    input_tokens: int | None = None
    output_tokens: int | None = None


def read_token_count(value: object) -> int | None:
    """Return a reported token count, or None if it is not an integer from 0 to `MAX_REPORTED_TOKENS`."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_REPORTED_TOKENS else None


class StopReason(StrEnum):
    """The reason why a reply ended, with the names of the AI SDK."""

    STOP = "stop"
    LENGTH = "length"
    FILTERED = "content-filter"
    TOOLS = "tool-calls"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stop:
    """End of a complete reply. It is always the last event."""

    reason: StopReason


Event = TextDelta | HiddenDelta | ToolStart | ToolDelta | TokenUsage | Stop


class ModelStream(Protocol):
    """A reply that is being received."""

    def batches(self) -> Iterator[Sequence[Event]]:
        """Yield the events, grouped as they arrived. The last event is `Stop`. Yields empty batches while waiting.

        Raises:
            InvalidModelResponse: the provider reports an error, sends invalid data or ends the reply too early.
            ResponseTimeout: the provider is silent for too long, or the reply takes too long.
            CallCancelled: the call was canceled.
        """

    def close(self) -> None:
        """End the call to the provider. Safe to call from any thread."""


class Model(Protocol):
    """A provider of models. Safe to share between greenlets."""

    def stream(
        self, prompt: Prompt, access: ModelAccess, *, timeouts: StreamTimeouts, cancellation: Cancellation | None = None
    ) -> ModelStream:
        """Send the prompt and wait until the provider accepts it (2xx).

        `cancellation` ends the call at any time, before the response starts or during it.

        Raises:
            CallCancelled: the call was canceled.
            ApiKeyRejected: the provider rejects the key.
            InsufficientCredit: the provider requires a payment first.
            UpstreamThrottled: the rate limit of the key is reached.
            UpstreamRejected: the provider rejects the prompt or does not know the model.
            UpstreamError, UpstreamUnavailable, UpstreamTimeout: the provider fails, is unreachable or does not respond.
        """


class ModelRegistry:
    """The configured providers by name."""

    def __init__(self, providers: Mapping[str, Model]) -> None:
        self._providers = dict(providers)

    def __getitem__(self, provider: str) -> Model:
        return self._providers[provider]

    def __contains__(self, provider: object) -> bool:
        return provider in self._providers
