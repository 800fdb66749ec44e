"""Driver of OpenAI's chat completions, which OpenAI, Gemini, xAI, Ollama, llama.cpp, vLLM and LiteLLM serve.

Source: the sections "Create chat completion" and "The chat completion chunk object" of the API reference.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

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


class OpenAiCompatible:
    """A provider at `base_url` (with `/v1`)."""

    def __init__(self, base_url: str, *, http: HttpClient) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._limit = "max_completion_tokens" if urlsplit(base_url).hostname == _COMPLETION_LIMIT_HOST else "max_tokens"
        self._http = http

    def stream(
        self, prompt: Prompt, access: ModelAccess, *, timeouts: StreamTimeouts, cancellation: Cancellation | None = None
    ) -> ModelStream:
        """Implement `Model.stream`."""
        headers = {"Authorization": f"Bearer {access.key}"} if access.key else {}
        body = self._body(prompt, access.model)
        return stream_reply(
            self._http, self._url, key=access.key, headers=headers, body=body, parser=ChunkParser(), timeouts=timeouts,
            cancellation=cancellation,
        )  # fmt: skip

    def _body(self, prompt: Prompt, model: str) -> dict[str, Any]:
        messages = [{"role": "system", "content": prompt.system}, *map(_message, prompt.messages)]
        body: dict[str, Any] = {"model": model, "messages": messages, self._limit: prompt.max_tokens}
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
    fields: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if message.calls:
        fields["content"] = message.text or None
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.call_id is not None:
        fields["tool_call_id"] = message.call_id
    return fields


class ChunkParser:
    """Parser of the chunks of one completion."""

    def __init__(self) -> None:
        self._reason: StopReason | None = None
        self._calls: dict[object, str] = {}

    def feed(self, data: dict[str, Any]) -> Sequence[Event]:
        """Parse one chunk."""
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
        if text := delta.get("content"):
            events.append(TextDelta(_text(text)))
        for call in delta.get("tool_calls") or ():
            events += self._call(call)
        if reason := choice.get("finish_reason"):
            self._reason = _REASONS.get(reason, StopReason.OTHER)
        return events

    def _call(self, call: dict[str, Any]) -> list[Event]:
        """Parse a part of a tool call. Servers that send calls whole may omit `index` and `id`."""
        function = call.get("function") or {}
        key = call.get("index", call.get("id") or len(self._calls))
        events: list[Event] = []
        if key not in self._calls:
            self._calls[key] = call.get("id") or f"call_{len(self._calls)}"
            events.append(ToolStart(self._calls[key], _text(function["name"])))
        if arguments := function.get("arguments"):
            events.append(ToolDelta(self._calls[key], _text(arguments)))
        return events

    def end(self) -> Sequence[Event]:
        """Return the last event. It follows the usage, which the provider sends after the stop reason.

        Raises:
            InvalidModelResponse: the provider did not send a stop reason.
        """
        if self._reason is None:
            raise InvalidModelResponse("The model provider sent an incomplete reply")
        return [Stop(StopReason.TOOLS if self._calls and self._reason is StopReason.STOP else self._reason)]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
