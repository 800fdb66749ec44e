"""Driver of OpenAI's chat completions, which OpenAI, Gemini, xAI, Ollama, llama.cpp, vLLM and LiteLLM serve.

Source: the sections "Create chat completion" and "The chat completion chunk object" of the API reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

from app.concurrency.cancellation import Cancellation
from app.drivers.ai.answer import stream_reply
from app.drivers.ai.port import (
    Event,
    HiddenDelta,
    InvalidModelResponse,
    Message,
    ModelAccess,
    ModelStream,
    Prompt,
    Stop,
    StopReason,
    TextDelta,
    TokenUsage,
    ToolDelta,
    ToolStart,
    read_token_count,
)
from app.drivers.http.client import HttpClient
from app.drivers.http.streaming import StreamTimeouts

_REASONS = {
    "stop": StopReason.STOP,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.FILTERED,
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
}
_COMPLETION_LIMIT_HOST = "api.openai.com"
"""Newer models of OpenAI reject `max_tokens`. Compatible servers accept only `max_tokens`."""
_HIDDEN_TEXTS = ("reasoning_content", "reasoning", "refusal")
"""Fields of a delta with output that is not part of the reply. The first one that is present counts."""
_TEXT_PARTS, _HIDDEN_PARTS = ("text", "output_text"), ("thinking", "reasoning", "refusal")
"""Types of the parts of a content. Parts of other types, for example references, contain no text."""


class OpenAiCompatible:
    """A provider at `base_url` (with `/v1`)."""

    def __init__(self, base_url: str, *, http: HttpClient) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._limit = "max_completion_tokens" if urlsplit(base_url).hostname == _COMPLETION_LIMIT_HOST else "max_tokens"
        self._http = http

    def stream(
        self, prompt: Prompt, access: ModelAccess, *, timeouts: StreamTimeouts, cancellation: Cancellation | None = None
    ) -> ModelStream:
        headers = {"Authorization": f"Bearer {access.key}"} if access.key else {}
        body = self._body(prompt, access.model)
        return stream_reply(
            self._http,
            self._url,
            key=access.key,
            headers=headers,
            body=body,
            parser=ChunkParser(),
            timeouts=timeouts,
            cancellation=cancellation,
        )

    def _body(self, prompt: Prompt, model: str) -> dict[str, object]:
        messages = [{"role": "system", "content": prompt.system}, *map(_message, prompt.messages)]
        body: dict[str, object] = {"model": model, "messages": messages, self._limit: prompt.max_tokens}
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        if prompt.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
                }
                for t in prompt.tools
            ]
        if prompt.shape:
            schema = {"name": prompt.shape.name, "strict": True, "schema": prompt.shape.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body


def _message(message: Message) -> dict[str, object]:
    fields: dict[str, object] = {"role": message.role.value, "content": message.text}
    if message.calls:
        fields["content"] = message.text or None
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.call_id is not None:
        fields["tool_call_id"] = message.call_id
    return fields


@dataclass
class _Call:
    """A tool call that is being received. Arguments are buffered until the name is known."""

    id: str
    name: str | None = None
    pending: str = ""


class ChunkParser:
    """Parser of the chunks of one completion."""

    def __init__(self) -> None:
        self._reason: StopReason | None = None
        self._calls: list[_Call] = []
        self._by_key: dict[object, _Call] = {}
        self._ids: set[str] = set()

    def feed(self, data: dict[str, Any]) -> Sequence[Event]:
        try:
            events = self._choice(data["choices"][0]) if data.get("choices") else []
            if usage := data.get("usage"):
                counts = [read_token_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
                events.append(TokenUsage(*counts))
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidModelResponse("The model provider sent an invalid chunk") from error
        return events

    def _choice(self, choice: dict[str, Any]) -> list[Event]:
        events: list[Event] = []
        delta = choice.get("delta") or {}
        hidden = next((delta[name] for name in _HIDDEN_TEXTS if delta.get(name)), None)
        if isinstance(hidden, str):
            events.append(HiddenDelta(hidden))
        events += _content(delta.get("content"))
        for call in delta.get("tool_calls") or ():
            events += self._call(call)
        if reason := choice.get("finish_reason"):
            self._reason = _REASONS.get(reason, StopReason.OTHER)
        return events

    def _call(self, part: dict[str, Any]) -> list[Event]:
        """Parse a part of a tool call. The name may follow the arguments."""
        function = part.get("function") or {}
        call = self._call_of(part, has_name=bool(function.get("name")))
        events: list[Event] = []
        if call.name is None and function.get("name"):
            call.name = _text(function["name"])
            events.append(ToolStart(call.id, call.name))
        arguments = call.pending + _arguments(function.get("arguments"))
        call.pending = arguments if call.name is None else ""
        if arguments and call.name is not None:
            events.append(ToolDelta(call.id, arguments))
        return events

    def _call_of(self, part: dict[str, Any], *, has_name: bool) -> _Call:
        """Return the call to which a part belongs. Servers may omit `index` and `id`, or send 0 for every index."""
        call_id, index = part.get("id") or None, part.get("index")
        if index is None and call_id is None:
            last = self._calls[-1] if self._calls else None
            return last if last is not None and not (has_name and last.name) else self._new_call(call_id)
        key = call_id if index is None else ("index", index)
        call = self._by_key.get(key)
        if call is None or (has_name and call.name and call_id and call_id != call.id):
            call = self._by_key[key] = self._new_call(call_id)
        return call

    def _new_call(self, call_id: str | None) -> _Call:
        is_free = call_id is not None and call_id not in self._ids
        call = _Call(_text(call_id) if is_free else f"call_{len(self._calls)}")
        self._calls.append(call)
        self._ids.add(call.id)
        return call

    def end(self) -> Sequence[Event]:
        """Return the last event. It follows the usage, which the provider sends after the stop reason.

        Raises:
            InvalidModelResponse: the provider did not send a stop reason, or the name of a tool.
        """
        if self._reason is None or not all(call.name for call in self._calls):
            raise InvalidModelResponse("The model provider sent an incomplete reply")
        return [Stop(StopReason.TOOLS if self._calls and self._reason is StopReason.STOP else self._reason)]


def _content(content: object) -> list[Event]:
    """Return the events of a content: a text, or a list of parts, of which some are reasoning."""
    events: list[Event] = []
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, dict) else "text"
        value = part.get("text" if kind in _TEXT_PARTS else kind) if isinstance(part, dict) else part
        if value and kind in _TEXT_PARTS:
            events.append(TextDelta(_text(value)))
        elif value and kind in _HIDDEN_PARTS:
            pieces = value if isinstance(value, list) else [value]
            texts = [piece.get("text") or "" if isinstance(piece, dict) else piece for piece in pieces]
            events.append(HiddenDelta("".join(map(_text, texts))))
    return events


def _arguments(value: object) -> str:
    """Return the arguments as JSON text. Some servers send an object."""
    if isinstance(value, dict):
        return orjson.dumps(value).decode()
    return _text(value) if value else ""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
