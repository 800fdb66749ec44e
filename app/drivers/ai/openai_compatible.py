"""OpenAI's chat completions, spoken by OpenAI, Gemini, xAI, Ollama, llama.cpp, vLLM and LiteLLM alike.

Source: the API reference's "Create chat completion" and "The chat completion chunk object".
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from app.core.cancellation import Cancellation
from app.drivers.ai.answer import ask
from app.drivers.ai.port import (
    Access,
    Event,
    Garbled,
    Message,
    ModelAnswer,
    Prompt,
    Stop,
    StopReason,
    TextDelta,
    ToolDelta,
    ToolStart,
    Usage,
)
from app.drivers.http import HttpClient
from app.drivers.http_streaming import Patience

_REASONS = {
    "stop": StopReason.STOP,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.FILTERED,
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
}
_NEWER_LIMIT = "api.openai.com"
"""OpenAI's own newer models refuse `max_tokens`; servers that follow it know only that."""


class OpenAiCompatible:
    """A provider below `base_url` (with its `/v1`)."""

    def __init__(self, base_url: str, *, http: HttpClient) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._limit = "max_completion_tokens" if urlsplit(base_url).hostname == _NEWER_LIMIT else "max_tokens"
        self._http = http

    def ask(
        self, prompt: Prompt, access: Access, *, patience: Patience, cancellation: Cancellation | None = None
    ) -> ModelAnswer:
        """See the port."""
        headers = {"Authorization": f"Bearer {access.key}"} if access.key else {}
        body = self._body(prompt, access.model)
        return ask(
            self._http, self._url, key=access.key, headers=headers, body=body, reading=ChunkReading, patience=patience,
            cancellation=cancellation,
        )  # fmt: skip

    def _body(self, prompt: Prompt, model: str) -> dict[str, Any]:
        said = [{"role": "system", "content": prompt.system}, *(_message(each) for each in prompt.messages)]
        body: dict[str, Any] = {"model": model, "messages": said, self._limit: prompt.max_tokens}
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        if prompt.tools:
            body["tools"] = [
                {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
                for t in prompt.tools
            ]  # fmt: skip
        if prompt.shape:
            schema = {"name": prompt.shape.name, "strict": True, "schema": prompt.shape.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body


def _message(message: Message) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if message.calls:
        told["content"] = message.text or None
        told["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.call_id is not None:
        told["tool_call_id"] = message.call_id
    return told


class ChunkReading:
    """Reads the chunks of one completion."""

    def __init__(self) -> None:
        self._reason: StopReason | None = None
        self._calls: dict[object, str] = {}

    def take(self, data: dict[str, Any]) -> Sequence[Event]:
        """One chunk."""
        try:
            events = self._choice(data["choices"][0]) if data.get("choices") else []
            if usage := data.get("usage"):
                events.append(Usage(usage.get("prompt_tokens"), usage.get("completion_tokens")))
        except (AttributeError, KeyError, TypeError) as fault:
            raise Garbled("The model provider sent a chunk that is none") from fault
        return events

    def _choice(self, choice: dict[str, Any]) -> list[Event]:
        events: list[Event] = []
        delta = choice.get("delta") or {}
        if text := delta.get("content"):
            events.append(TextDelta(_text(text)))
        for call in delta.get("tool_calls") or ():
            events += self._call(call)
        if reason := choice.get("finish_reason"):
            self._reason = _REASONS.get(reason, StopReason.OTHER)
        return events

    def _call(self, call: dict[str, Any]) -> list[Event]:
        """A part of a tool call. Servers that send calls whole may leave out `index` and even `id`."""
        function = call.get("function") or {}
        place = call.get("index", call.get("id") or len(self._calls))
        events: list[Event] = []
        if place not in self._calls:
            self._calls[place] = call.get("id") or f"call_{len(self._calls)}"
            events.append(ToolStart(self._calls[place], _text(function["name"])))
        if arguments := function.get("arguments"):
            events.append(ToolDelta(self._calls[place], _text(arguments)))
        return events

    def end(self) -> Sequence[Event]:
        """The usage comes after the reason, so only the end is the end."""
        if self._reason is None:
            raise Garbled("The model provider's answer ended before its end")
        return [Stop(StopReason.TOOLS if self._calls and self._reason is StopReason.STOP else self._reason)]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
