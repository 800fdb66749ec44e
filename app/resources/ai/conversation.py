"""Calls of one request to a model: metered, limited in time and cancelable."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.concurrency.cancellation import Cancellation
from app.core.errors import AppError, BadGateway
from app.core.limits import AiLimits
from app.database.errors import is_transient
from app.drivers.ai.port import (
    ApiKeyRejected,
    Event,
    InsufficientCredit,
    Model,
    ModelStream,
    Prompt,
    Stop,
    StopReason,
    TextDelta,
    TokenUsage,
    ToolStart,
)
from app.drivers.ai.tokens import ReceivedTokens
from app.drivers.errors import DriverError, UpstreamRejected, UpstreamThrottled, UpstreamUnavailable
from app.drivers.http.streaming import CallCancelled, StreamTimeouts
from app.resources.ai.credentials import Credentials
from app.resources.ai.errors import ProviderBusy
from app.resources.ai.usage_ledger import UsageMeter

Watch = Callable[[Callable[[], None]], Callable[[], None]]
"""Starts to watch the client. Receives a function to call when the client disconnects, and returns one that stops."""


def _do_nothing() -> None:
    """Stop a watch that was not started."""


@dataclass(frozen=True)
class ModelReply:
    """A complete reply."""

    text: str
    reason: StopReason
    input_tokens: int
    output_tokens: int


class Conversation:
    """Calls of one request to one model.

    The first call starts `watch` and writes the usage row. `close` must be called in every case.
    """

    def __init__(
        self,
        model: Model,
        credentials: Credentials,
        meter: UsageMeter,
        limits: AiLimits,
        total_s: float,
        *,
        watch: Watch | None = None,
    ) -> None:
        self._model, self._credentials, self._meter, self._limits = model, credentials, meter, limits
        self._deadline = time.monotonic() + total_s
        self._current: MeteredStream | None = None
        self._cancellation = Cancellation()
        self._watch, self._stop_watch = watch, _do_nothing

    def stream(self, prompt: Prompt) -> "MeteredStream":
        """Reserve the tokens that the call may use, send the prompt and wait until the provider accepts it.

        Raises:
            CallCancelled: the client disconnected.
            TooManyStreams, BudgetUsed: a limit of the user is reached.
            AppError, DriverError: the provider rejects the prompt or fails.
        """
        try:
            self._start_watch()
            self._meter.reserve(
                prompt.reserved_input_tokens + prompt.max_tokens, prompt.max_input_tokens + prompt.max_tokens
            )
            self._current = MeteredStream(self._send(prompt), self._meter, prompt)
        except DriverError as error:
            self.close()
            raise translate_error(error, own_key=self._credentials.own) from error
        except BaseException:
            self.close()
            raise
        return self._current

    def complete(self, prompt: Prompt) -> ModelReply:
        """Return the complete reply. Raises the same errors as `stream` and `MeteredStream.batches`."""
        reply = self.stream(prompt)
        text = "".join(event.text for batch in reply.batches() for event in batch if isinstance(event, TextDelta))
        return ModelReply(text, reply.reason, reply.input_tokens, reply.output_tokens)

    def cancel(self) -> None:
        """End the running call and prevent further calls. Safe to call from any thread."""
        self._cancellation.cancel()

    def settle(self) -> None:
        """Write the usage. No call may follow."""
        self._meter.settle()

    def close(self) -> None:
        """End the running call and write the usage."""
        self._stop_watch()
        if self._current is not None:
            self._current.close()
        self.settle()

    def _start_watch(self) -> None:
        if self._cancellation.cancelled:
            raise CallCancelled("The request was canceled")
        if self._watch is not None:
            self._stop_watch, self._watch = self._watch(self.cancel), None

    def _send(self, prompt: Prompt) -> ModelStream:
        try:
            return self._model.stream(
                prompt, self._credentials.access, timeouts=self._timeouts(), cancellation=self._cancellation
            )
        except CallCancelled:
            # The provider may already have read the prompt.
            self._meter.count(prompt.estimated_input_tokens, 0)
            raise

    def _timeouts(self) -> StreamTimeouts:
        limits = self._limits
        remaining_s = max(0.1, self._deadline - time.monotonic())
        return StreamTimeouts(limits.connect_timeout_s, limits.first_byte_timeout_s, limits.idle_timeout_s, remaining_s)


class MeteredStream:
    """A reply whose tokens are counted while it is received."""

    def __init__(self, stream: ModelStream, meter: UsageMeter, prompt: Prompt) -> None:
        self._stream, self._meter = stream, meter
        self._prompt = prompt
        self._reported_input = self._reported_output = 0
        self._received = ReceivedTokens()
        self._is_counted = False
        self.reason = StopReason.OTHER

    def batches(self) -> Iterator[Sequence[Event]]:
        """Yield the events as they arrive.

        Raises:
            DriverError: the reply is incomplete.
        """
        try:
            for batch in self._stream.batches():
                for event in batch:
                    self._note(event)
                yield batch
        finally:
            self._count()

    def close(self) -> None:
        """End the call and count what was received."""
        self._stream.close()
        self._count()

    def _count(self) -> None:
        if not self._is_counted:
            self._is_counted = True
            self._meter.count(self.input_tokens, self.output_tokens)

    def _note(self, event: Event) -> None:
        match event:
            case TokenUsage(input_tokens, output_tokens):
                self._reported_input = max(self._reported_input, input_tokens or 0)
                if output_tokens:
                    self._reported_output = max(self._reported_output, output_tokens)
                    self._received = ReceivedTokens()
            case Stop(reason):
                self.reason = reason
            case ToolStart(_, name):
                self._received.add(name)
            case _:
                self._received.add(event.text)

    @property
    def input_tokens(self) -> int:
        """Reported input tokens, or their estimate if the provider reports none."""
        return self._reported_input or self._prompt.estimated_input_tokens

    @property
    def output_tokens(self) -> int:
        """Reported output tokens, and the estimate of the text that was received after the report."""
        estimate = self._reported_output + self._received.count
        return max(self._reported_output, min(estimate, self._prompt.max_tokens))


def translate_error(error: DriverError, *, own_key: bool) -> Exception:
    """Return the error for the caller. It hides problems of the operator's key."""
    match error:
        case UpstreamThrottled() if own_key:
            return ProviderBusy(retry_after_s=error.retry_after_s)
        case InsufficientCredit() if own_key:
            return UpstreamRejected(str(error), code="AI_OUT_OF_CREDIT")
        case ApiKeyRejected() | InsufficientCredit() if not own_key:
            return UpstreamUnavailable(
                "The model of this service is currently unavailable", retry_after_s=60, code="AI_UNAVAILABLE"
            )
        case _:
            return error


def error_text(error: Exception) -> str:
    """Return the text of an error part. It contains no details of a defect."""
    match error:
        case CallCancelled():
            return "The request was canceled"
        case DriverError():
            return str(error) or BadGateway.message
        case AppError():
            return error.message
        case _ if is_transient(error):
            return "The database is currently unavailable. Try again shortly"
        case _:
            return AppError.message


@contextlib.contextmanager
def closing(conversation: Conversation) -> Iterator[Conversation]:
    """Close the conversation at the end of the block."""
    try:
        yield conversation
    finally:
        conversation.close()
