"""One request's dealings with a model: metered, within its time, ended from outside, and told in our words when it fails."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.core.cancellation import Cancellation
from app.core.limits import AiLimits
from app.drivers.ai.port import (
    Event,
    KeyRejected,
    Model,
    ModelAnswer,
    OutOfCredit,
    Prompt,
    Stop,
    StopReason,
    TextDelta,
    Usage,
)
from app.drivers.errors import Absent, DriverError, Rejected, Throttled
from app.drivers.http_streaming import Cancelled, Patience
from app.http.error_handlers import as_answer
from app.resources.ai.credentials import Credentials
from app.resources.ai.errors import ProviderBusy
from app.resources.ai.ledger import Meter

CHARACTERS_A_TOKEN = 4
"""For estimates where a provider counts nothing; reservations take three, to be on the safe side."""

Watch = Callable[[Callable[[], None]], Callable[[], None]]


def _nothing() -> None:
    """Ends a watch that never began."""


@dataclass(frozen=True)
class Said:
    """A whole answer."""

    text: str
    reason: StopReason
    input_tokens: int
    output_tokens: int


class Conversation:
    """Asks one model, once or several times, for one request.

    Nothing is written down before the first question; whoever asked ends it with `close`, in any case. From the first
    question on `watch` looks whether the caller is still there: it is given what to call when they leave, and gives
    what ends it.
    """

    def __init__(
        self,
        model: Model,
        credentials: Credentials,
        meter: Meter,
        limits: AiLimits,
        total_s: float,
        *,
        watch: Watch | None = None,
    ) -> None:
        self._model, self._credentials, self._meter, self._limits = model, credentials, meter, limits
        self._until = time.monotonic() + total_s
        self._current: ModelAnswer | None = None
        self._cancellation = Cancellation()
        self._watch, self._end_watch = watch, _nothing

    def ask(self, prompt: Prompt) -> "Answer":
        """Reserve the tokens, send the prompt, and wait until the provider has said yes.

        Raises:
            Cancelled: nobody waits for an answer any more.
            TooManyStreams, BudgetUsed: not now.
            AppError, DriverError: the provider refuses, or does not work.
        """
        try:
            self._begin()
            self._meter.reserve(prompt.characters // 3 + prompt.max_tokens)
            self._current = self._model.ask(
                prompt, self._credentials.access, patience=self._patience(), cancellation=self._cancellation
            )
        except DriverError as error:
            self.close()
            raise told(error, own_key=self._credentials.own) from error
        except BaseException:
            self.close()
            raise
        return Answer(self._current, self._meter, prompt)

    def say(self, prompt: Prompt) -> Said:
        """Ask and read the whole answer. Raises as `ask` and `Answer.batches` do."""
        answer = self.ask(prompt)
        text = "".join(event.text for batch in answer.batches() for event in batch if isinstance(event, TextDelta))
        return Said(text, answer.reason, answer.input_tokens, answer.output_tokens)

    def cancel(self) -> None:
        """End the call to the provider from another thread, and begin no further one."""
        self._cancellation.cancel()

    def settle(self) -> None:
        """Nothing more will be asked."""
        self._meter.settle()

    def close(self) -> None:
        """End everything that still runs."""
        self._end_watch()
        if self._current is not None:
            self._current.close()
        self.settle()

    def _begin(self) -> None:
        if self._cancellation.cancelled:
            raise Cancelled("Given up")
        if self._watch is not None:
            self._end_watch, self._watch = self._watch(self.cancel), None

    def _patience(self) -> Patience:
        limits = self._limits
        left_s = max(0.1, self._until - time.monotonic())
        return Patience(limits.connect_timeout_s, limits.first_byte_timeout_s, limits.idle_timeout_s, left_s)


class Answer:
    """An answer on its way, counted as it comes."""

    def __init__(self, answer: ModelAnswer, meter: Meter, prompt: Prompt) -> None:
        self._answer, self._meter, self._asked_characters = answer, meter, prompt.characters
        self._told = Usage()
        self._characters = 0
        self.reason = StopReason.OTHER

    def batches(self) -> Iterator[Sequence[Event]]:
        """The events as they come. Raises DriverError when the answer breaks off."""
        try:
            for batch in self._answer.batches():
                for event in batch:
                    self._note(event)
                yield batch
        finally:
            self._meter.count(self.input_tokens, self.output_tokens)

    def _note(self, event: Event) -> None:
        match event:
            case Usage(given, made):
                known = self._told
                self._told = Usage(
                    known.input_tokens if given is None else given, known.output_tokens if made is None else made
                )
            case Stop(reason):
                self.reason = reason
            case _:
                self._characters += len(getattr(event, "text", ""))

    @property
    def input_tokens(self) -> int:
        """As the provider counted, or an estimate."""
        known = self._told.input_tokens
        return self._asked_characters // CHARACTERS_A_TOKEN if known is None else known

    @property
    def output_tokens(self) -> int:
        """As the provider counted, or an estimate of what came; an answer that broke off was counted to its start only."""
        return max(
            self._told.output_tokens or 0, 0 if self._told.output_tokens else -(-self._characters // CHARACTERS_A_TOKEN)
        )


def told(error: DriverError, *, own_key: bool) -> Exception:
    """The same failure as the caller should hear it: a fault of the operator's key is none of theirs."""
    match error:
        case Throttled() if own_key:
            return ProviderBusy(retry_after_s=error.retry_after_s)
        case OutOfCredit() if own_key:
            return Rejected(str(error), code="AI_OUT_OF_CREDIT")
        case KeyRejected() | OutOfCredit() if not own_key:
            return Absent("The service's own model cannot be used right now", retry_after_s=60, code="AI_UNAVAILABLE")
        case _:
            return error


def sentence(error: Exception) -> str:
    """What a reader of a stream is told of a failure; nothing of a fault of ours."""
    return "This was ended" if isinstance(error, Cancelled) else as_answer(error).message


@contextlib.contextmanager
def closing(conversation: Conversation) -> Iterator[Conversation]:
    """A conversation that ends with the block."""
    try:
        yield conversation
    finally:
        conversation.close()
