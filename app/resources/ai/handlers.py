"""Prompts and results of the AI handlers and of the chat, independent of HTTP.

Replies in JSON are checked and requested a second time if they are invalid.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import orjson

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
from app.resources.ai import diffs, output_schemas, prompts, streams
from app.resources.ai.conversation import Conversation, MeteredStream, closing
from app.resources.ai.errors import InvalidAnswer
from app.resources.ai.stream_parsers import JsonObjectScanner
from app.resources.ai.streams import new_message_id
from app.resources.ai.tools import TOOLS, ProjectTools, ToolResult, parsed

MAX_CALLS_PER_ROUND = 8
TOOL_LIMIT_PROMPT = "Look nothing more up: answer now with what you have found."
SEO_NAME = "page"
T = TypeVar("T")


@dataclass
class _Round:
    """Text and tool calls of one reply."""

    text: streams.Text
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
                return streams.part("tool-input-start", toolCallId=call_id, toolName=name)
            case ToolDelta(call_id, text):
                self.arguments[call_id].append(text)
                return streams.part("tool-input-delta", toolCallId=call_id, inputTextDelta=text)
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
        yield streams.start(new_message_id())
        remaining, named = limits.chat_tokens, set[str]()
        for number in range(limits.tool_rounds + 1):
            current = _Round(streams.Text(f"text_{number + 1}"))
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
            yield streams.part("finish-step") + streams.part("start-step")
            prompt = _continued(
                prompt, "".join(current.text_parts), results, remaining, last=number + 1 == limits.tool_rounds
            )
            answer = yield from run_with_heartbeat(partial(conversation.stream, prompt))
        conversation.settle()
        yield FinalBlock(streams.finish(StopReason.LENGTH if remaining <= 0 else answer.reason))


def _call_part(call: ToolCall) -> bytes:
    arguments = parsed(call)
    if arguments is None:
        return b""
    return streams.part("tool-input-available", toolCallId=call.id, toolName=call.name, input=arguments)


def _result_part(call: ToolCall, outcome: ToolResult, named: set[str]) -> bytes:
    if parsed(call) is None:
        about = {"toolName": call.name, "input": call.arguments, "errorText": outcome.text}
        return streams.part("tool-input-error", toolCallId=call.id, **about)
    if outcome.problem is not None:
        return streams.part("tool-output-error", toolCallId=call.id, errorText=outcome.problem)
    return streams.part("tool-output-available", toolCallId=call.id, output=outcome.output) + b"".join(
        _sources(outcome, named)
    )


def _sources(outcome: ToolResult, named: set[str]) -> Iterator[bytes]:
    document = outcome.document
    if document is not None and document.path not in named:
        named.add(document.path)
        name = document.path.rsplit("/", 1)[-1]
        about = {"sourceId": document.path, "mediaType": document.media_type, "title": document.path, "filename": name}
        yield streams.part("source-document", **about)


def _continued(
    prompt: Prompt, text: str, results: Sequence[tuple[ToolCall, ToolResult]], remaining: int, *, last: bool
) -> Prompt:
    """Return the prompt of the next round with the tool calls and their results."""
    calls = tuple(call if parsed(call) is not None else replace(call, arguments="{}") for call, _ in results)
    answers = tuple(Message(MessageRole.TOOL, outcome.text, call_id=call.id) for call, outcome in results)
    system = f"{prompt.system}\n\n{TOOL_LIMIT_PROMPT}" if last else prompt.system
    turns = (*prompt.messages, Message(MessageRole.ASSISTANT, text, calls), *answers)
    return replace(prompt, system=system, messages=turns, max_tokens=remaining)


def complete(conversation: Conversation, prompt: str, instructions: str | None) -> dict[str, object]:
    """Complete a text. Returns `{text, finishReason, usage}`."""
    with closing(conversation):
        reply = conversation.complete(prompts.copilot(prompt, instructions))
    usage = {"inputTokens": reply.input_tokens, "outputTokens": reply.output_tokens}
    return {
        "text": reply.text,
        "finishReason": reply.reason,
        "usage": usage | {"totalTokens": reply.input_tokens + reply.output_tokens},
    }


def chat(
    conversation: Conversation,
    turns: tuple[Message, ...],
    project_name: str,
    *,
    library: ProjectTools,
    limits: AiLimits,
) -> Blocks:
    """Chat about a project, whose files the model may read."""
    prompt = prompts.chat(turns, TOOLS, project_name, limits.chat_tokens)
    return stream_chat(conversation, conversation.stream(prompt), prompt, library=library, limits=limits)


def explain(
    conversation: Conversation, code: str, *, language: str | None, path: str | None, question: str | None
) -> Blocks:
    """Explain a piece of code."""
    return streams.stream_text(conversation, conversation.stream(prompts.code_explain(code, language, path, question)))


def write_commit(conversation: Conversation, diff: str, locale: str | None) -> dict[str, object]:
    """Return a commit message for a diff. Raises InvalidAnswer."""
    with closing(conversation):
        return request_json(conversation, prompts.commit(diff, locale), output_schemas.commit_message)


def write_metadata(
    conversation: Conversation,
    content: str,
    *,
    path: str | None,
    locale: str | None,
    front_matter: Mapping[str, object] | None,
) -> dict[str, object]:
    """Return the SEO metadata of a page. Raises InvalidAnswer."""
    with closing(conversation):
        prompt = prompts.metadata(content, path, locale, front_matter)
        return request_json(conversation, prompt, output_schemas.page_metadata)


def fix_seo(
    conversation: Conversation,
    content: str,
    issues: Sequence[Mapping[str, str]],
    *,
    front_matter: Mapping[str, object] | None,
    locale: str | None,
) -> dict[str, object]:
    """Return a page without its SEO issues, with a diff. Raises InvalidAnswer."""
    check = output_schemas.fixed_page([issue["id"] for issue in issues])
    with closing(conversation):
        page = request_json(conversation, prompts.seo_fix(content, issues, front_matter, locale), check)
    return page | {"diff": diffs.unified(SEO_NAME, content, page["content"])}


def request_json(conversation: Conversation, prompt: Prompt, check: Callable[[Mapping[str, object]], T]) -> T:
    """Return the result of `check` for the reply. `check` raises ValueError with a message for the model.

    Raises:
        InvalidAnswer: two replies were invalid.
        AppError, DriverError: the call failed.
    """
    text = conversation.complete(prompt).text
    try:
        return check(_parsed(text))
    except ValueError as problem:
        again = prompts.repaired(prompt, text, str(problem))
    try:
        return check(_parsed(conversation.complete(again).text))
    except ValueError as problem:
        raise InvalidAnswer from problem


def _parsed(text: str) -> Mapping[str, object]:
    """Return the object. Models without a JSON mode may add a code fence or a sentence."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        objects = JsonObjectScanner().feed(text)
        value = objects[0] if len(objects) == 1 else None
    if not isinstance(value, dict):
        # Not a TypeError: the repair round handles one kind of failure.
        raise ValueError("the answer must be one JSON object")  # noqa: TRY004
    return value
