"""Chat in which the model may call tools in a limited number of rounds before it replies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from app.concurrency.background import Blocks, FinalBlock, run_with_heartbeat
from app.core.limits import AiLimits
from app.drivers.ai.port import (
    Event,
    Message,
    MessageRole,
    Prompt,
    StopReason,
    TextDelta,
    ToolCall,
    ToolDelta,
    ToolStart,
)
from app.resources.ai import ui_stream
from app.resources.ai.conversation import Conversation, MeteredStream, closing
from app.resources.ai.streams import new_message_id
from app.resources.ai.tools import ProjectTools, ToolResult, parsed

MAX_CALLS_PER_ROUND = 8
TOOL_LIMIT_PROMPT = "Look nothing more up: answer now with what you have found."


@dataclass
class _Round:
    """Text and tool calls of one reply."""

    text: ui_stream.Text
    text_parts: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, list[str]] = field(default_factory=dict)

    def frames(self, batch: Sequence[Event]) -> bytes:
        return b"".join([self._frame(event) for event in batch])

    def _frame(self, event: Event) -> bytes:
        match event:
            case TextDelta(text):
                self.text_parts.append(text)
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


def stream_chat(
    conversation: Conversation, answer: MeteredStream, prompt: Prompt, *, library: ProjectTools, limits: AiLimits
) -> Blocks:
    """Stream the replies of all rounds with the results of the tools.

    Each read file is named once in a `source-document` part.

    The output limit applies to all rounds together.
    """
    with closing(conversation):
        yield ui_stream.start(new_message_id())
        remaining, named = limits.chat_tokens, set[str]()
        for number in range(limits.tool_rounds + 1):
            current = _Round(ui_stream.Text(f"text_{number + 1}"))
            for batch in answer.batches():
                yield current.frames(batch)
            yield current.text.end()
            remaining -= answer.output_tokens
            if not current.calls or number == limits.tool_rounds or remaining <= 0:
                break
            results: list[tuple[ToolCall, ToolResult]] = []
            for call in current.calls:
                yield _call_part(call)
                outcome = ToolResult(None, "Too many calls at once")
                if len(results) < MAX_CALLS_PER_ROUND:
                    outcome = yield from run_with_heartbeat(partial(library.use, call))
                results.append((call, outcome))
                yield _result_part(call, outcome, named)
            yield ui_stream.part("finish-step") + ui_stream.part("start-step")
            prompt = _continued(
                prompt, "".join(current.text_parts), results, remaining, last=number + 1 == limits.tool_rounds
            )
            answer = yield from run_with_heartbeat(partial(conversation.stream, prompt))
        conversation.settle()
        yield FinalBlock(ui_stream.finish(StopReason.LENGTH if remaining <= 0 else answer.reason))


def _call_part(call: ToolCall) -> bytes:
    arguments = parsed(call)
    if arguments is None:
        return b""
    return ui_stream.part("tool-input-available", toolCallId=call.id, toolName=call.name, input=arguments)


def _result_part(call: ToolCall, outcome: ToolResult, named: set[str]) -> bytes:
    if parsed(call) is None:
        about = {"toolName": call.name, "input": call.arguments, "errorText": outcome.text}
        return ui_stream.part("tool-input-error", toolCallId=call.id, **about)
    if outcome.problem is not None:
        return ui_stream.part("tool-output-error", toolCallId=call.id, errorText=outcome.problem)
    return ui_stream.part("tool-output-available", toolCallId=call.id, output=outcome.output) + b"".join(
        _sources(outcome, named)
    )


def _sources(outcome: ToolResult, named: set[str]) -> Iterator[bytes]:
    document = outcome.document
    if document is not None and document.path not in named:
        named.add(document.path)
        name = document.path.rsplit("/", 1)[-1]
        about = {"sourceId": document.path, "mediaType": document.media_type, "title": document.path, "filename": name}
        yield ui_stream.part("source-document", **about)


def _continued(
    prompt: Prompt, text: str, results: Sequence[tuple[ToolCall, ToolResult]], remaining: int, *, last: bool
) -> Prompt:
    """Return the prompt of the next round with the tool calls and their results."""
    calls = tuple(call if parsed(call) is not None else replace(call, arguments="{}") for call, _ in results)
    answers = tuple(Message(MessageRole.TOOL, outcome.text, call_id=call.id) for call, outcome in results)
    system = f"{prompt.system}\n\n{TOOL_LIMIT_PROMPT}" if last else prompt.system
    turns = (*prompt.messages, Message(MessageRole.ASSISTANT, text, calls), *answers)
    return replace(prompt, system=system, messages=turns, max_tokens=remaining)
