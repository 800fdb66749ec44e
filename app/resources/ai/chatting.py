"""The chat: a model that may look things up in the project, a bounded number of times, before it answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from app.core.beside import Blocks, Last, meanwhile
from app.core.limits import AiLimits
from app.drivers.ai.port import Event, Message, Prompt, Role, StopReason, TextDelta, ToolCall, ToolDelta, ToolStart
from app.resources.ai import ui_stream
from app.resources.ai.answering import new_message_id
from app.resources.ai.conversation import Answer, Conversation, closing
from app.resources.ai.library import Library, Outcome, parsed

CALLS_A_ROUND = 8
ENOUGH = "Look nothing more up: answer now with what you have found."


@dataclass
class _Round:
    """What the model says in one answer: text, and calls of tools."""

    text: ui_stream.Text
    said: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, list[str]] = field(default_factory=dict)

    def frames(self, batch: Sequence[Event]) -> bytes:
        return b"".join([self._frame(event) for event in batch])

    def _frame(self, event: Event) -> bytes:
        match event:
            case TextDelta(text):
                self.said.append(text)
                return self.text.delta(text)
            case ToolStart(call_id, name):
                self.names[call_id], self.arguments[call_id] = name, []
                return ui_stream.part("tool-input-start", toolCallId=call_id, toolName=name)
            case ToolDelta(call_id, text):
                self.arguments[call_id].append(text)
                return ui_stream.part("tool-input-delta", toolCallId=call_id, inputTextDelta=text)
            case _:
                return b""

    @property
    def calls(self) -> list[ToolCall]:
        return [ToolCall(call_id, name, "".join(self.arguments[call_id])) for call_id, name in self.names.items()]


def talk(conversation: Conversation, answer: Answer, prompt: Prompt, *, library: Library, limits: AiLimits) -> Blocks:
    """Answer, looking things up in between; what was read is named by `source-document` parts, each file once.

    The output limit counts for all rounds together.
    """
    with closing(conversation):
        yield ui_stream.start(new_message_id())
        left, named = limits.chat_tokens, set[str]()
        for number in range(limits.tool_rounds + 1):
            current = _Round(ui_stream.Text(f"text_{number + 1}"))
            for batch in answer.batches():
                yield current.frames(batch)
            yield current.text.end()
            left -= answer.output_tokens
            if not current.calls or number == limits.tool_rounds or left <= 0:
                break
            found: list[tuple[ToolCall, Outcome]] = []
            for call in current.calls:
                yield _asked(call)
                outcome = Outcome(None, "Too many calls at once")
                if len(found) < CALLS_A_ROUND:
                    outcome = yield from meanwhile(partial(library.use, call))
                found.append((call, outcome))
                yield _told(call, outcome, named)
            yield ui_stream.part("finish-step") + ui_stream.part("start-step")
            prompt = _continued(prompt, "".join(current.said), found, left, last=number + 1 == limits.tool_rounds)
            answer = yield from meanwhile(partial(conversation.ask, prompt))
        conversation.settle()
        yield Last(ui_stream.finish(StopReason.LENGTH if left <= 0 else answer.reason))


def _asked(call: ToolCall) -> bytes:
    arguments = parsed(call)
    if arguments is None:
        return b""
    return ui_stream.part("tool-input-available", toolCallId=call.id, toolName=call.name, input=arguments)


def _told(call: ToolCall, outcome: Outcome, named: set[str]) -> bytes:
    if parsed(call) is None:
        about = {"toolName": call.name, "input": call.arguments, "errorText": outcome.text}
        return ui_stream.part("tool-input-error", toolCallId=call.id, **about)
    if outcome.problem is not None:
        return ui_stream.part("tool-output-error", toolCallId=call.id, errorText=outcome.problem)
    return ui_stream.part("tool-output-available", toolCallId=call.id, output=outcome.output) + b"".join(
        _sources(outcome, named)
    )


def _sources(outcome: Outcome, named: set[str]) -> Iterator[bytes]:
    document = outcome.document
    if document is not None and document.path not in named:
        named.add(document.path)
        name = document.path.rsplit("/", 1)[-1]
        about = {"sourceId": document.path, "mediaType": document.media_type, "title": document.path, "filename": name}
        yield ui_stream.part("source-document", **about)


def _continued(
    prompt: Prompt, said: str, found: Sequence[tuple[ToolCall, Outcome]], left: int, *, last: bool
) -> Prompt:
    """The prompt with what the model asked for and what it is told; the tools stay what they were."""
    calls = tuple(call if parsed(call) is not None else replace(call, arguments="{}") for call, _ in found)
    answers = tuple(Message(Role.TOOL, outcome.text, call_id=call.id) for call, outcome in found)
    system = f"{prompt.system}\n\n{ENOUGH}" if last else prompt.system
    turns = (*prompt.messages, Message(Role.ASSISTANT, said, calls), *answers)
    return replace(prompt, system=system, messages=turns, max_tokens=left)
