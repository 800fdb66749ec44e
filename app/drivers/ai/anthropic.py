"""Anthropic's messages API; an answer in JSON is had by a tool the model is made to use.

Source: the API reference's "Messages" and "Streaming messages".
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from app.core.cancellation import Cancellation
from app.drivers.ai.answer import ask
from app.drivers.ai.port import (
    Access,
    Event,
    Garbled,
    Message,
    ModelAnswer,
    Prompt,
    Role,
    Stop,
    StopReason,
    TextDelta,
    ToolDelta,
    ToolStart,
    Usage,
)
from app.drivers.http import HttpClient
from app.drivers.http_streaming import Patience

VERSION = "2023-06-01"
_REASONS = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "tool_use": StopReason.TOOLS,
    "refusal": StopReason.FILTERED,
}


class Anthropic:
    """The provider below `base_url` (without its `/v1`)."""

    def __init__(self, base_url: str, *, http: HttpClient) -> None:
        self._url = f"{base_url.rstrip('/')}/v1/messages"
        self._http = http

    def ask(
        self, prompt: Prompt, access: Access, *, patience: Patience, cancellation: Cancellation | None = None
    ) -> ModelAnswer:
        """See the port."""
        headers = {"anthropic-version": VERSION} | ({"x-api-key": access.key} if access.key else {})
        shaped = prompt.shape is not None

        def reading() -> EventReading:
            return EventReading(shaped=shaped)

        body = _body(prompt, access.model)
        return ask(
            self._http, self._url, key=access.key, headers=headers, body=body, reading=reading, patience=patience,
            cancellation=cancellation,
        )  # fmt: skip


def _body(prompt: Prompt, model: str) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model, "max_tokens": prompt.max_tokens, "stream": True}
    body |= {"system": prompt.system, "messages": _messages(prompt.messages)}
    tools = [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in prompt.tools]
    if prompt.shape:
        tools = [{"name": prompt.shape.name, "description": "Give the answer.", "input_schema": prompt.shape.schema}]
        body["tool_choice"] = {"type": "tool", "name": prompt.shape.name}
    if tools:
        body["tools"] = tools
    return body


def _messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Turns that alternate: the answers of several tools are one turn of the user's."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += _blocks(message)
        else:
            turns.append({"role": role, "content": _blocks(message)})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.call_id is not None:
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.text}]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text else []
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": orjson.loads(call.arguments or "{}")}
        for call in message.calls
    ]


class EventReading:
    """Reads the events of one message; with `shaped` the made tool's input is the answer's text."""

    def __init__(self, *, shaped: bool) -> None:
        self._shaped = shaped
        self._calls: dict[int, str] = {}
        self._reason: StopReason | None = None

    def take(self, data: dict[str, Any]) -> Sequence[Event]:
        """One event; kinds not known here are passed over, as the API asks."""
        try:
            match data.get("type"):
                case "content_block_delta":
                    return self._delta(data["index"], data["delta"])
                case "content_block_start":
                    return self._start(data["index"], data["content_block"])
                case "message_start":
                    return [_usage(data["message"].get("usage") or {})]
                case "message_delta":
                    self._reason = _REASONS.get(data["delta"].get("stop_reason"), StopReason.OTHER)
                    return [_usage(data.get("usage") or {})]
                case "message_stop":
                    return self.end()
                case str():
                    return ()
                case _:
                    raise Garbled("The model provider sent an event of no type")
        except (AttributeError, KeyError, TypeError) as fault:
            raise Garbled("The model provider sent an event that is none") from fault

    def _delta(self, index: int, delta: dict[str, Any]) -> Sequence[Event]:
        if delta["type"] == "text_delta":
            return () if self._shaped else (TextDelta(_text(delta["text"])),)
        if delta["type"] == "input_json_delta" and delta["partial_json"]:
            text = _text(delta["partial_json"])
            return (TextDelta(text) if self._shaped else ToolDelta(self._calls[index], text),)
        return ()

    def _start(self, index: int, block: dict[str, Any]) -> Sequence[Event]:
        if block["type"] == "tool_use" and not self._shaped:
            self._calls[index] = _text(block["id"])
            return (ToolStart(self._calls[index], _text(block["name"])),)
        if block["type"] == "text" and block.get("text") and not self._shaped:
            return (TextDelta(_text(block["text"])),)
        return ()

    def end(self) -> Sequence[Event]:
        """The answer is whole when it told why it ended."""
        if self._reason is None:
            raise Garbled("The model provider's answer ended before its end")
        made = self._shaped and self._reason is StopReason.TOOLS
        return (Stop(StopReason.STOP if made else self._reason),)


def _usage(told: dict[str, Any]) -> Usage:
    """Cached input counts as input: it was sent."""
    parts = [told.get(name) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")]
    known = [part for part in parts if isinstance(part, int)]
    return Usage(sum(known) if known else None, told.get("output_tokens"))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
