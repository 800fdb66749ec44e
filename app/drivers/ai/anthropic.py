"""Driver of Anthropic's Messages API. A forced tool call returns replies in JSON.

Source: the sections "Messages" and "Streaming messages" of the API reference.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from app.concurrency.cancellation import Cancellation
from app.drivers.ai.answer import stream_reply
from app.drivers.ai.port import (
    Event,
    HiddenDelta,
    InvalidModelResponse,
    Message,
    MessageRole,
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
    """The provider at `base_url` (without `/v1`)."""

    def __init__(self, base_url: str, *, http: HttpClient) -> None:
        self._url = f"{base_url.rstrip('/')}/v1/messages"
        self._http = http

    def stream(
        self, prompt: Prompt, access: ModelAccess, *, timeouts: StreamTimeouts, cancellation: Cancellation | None = None
    ) -> ModelStream:
        headers = {"anthropic-version": VERSION} | ({"x-api-key": access.key} if access.key else {})
        parser = MessageEventParser(is_shaped=prompt.shape is not None)
        body = _body(prompt, access.model)
        return stream_reply(
            self._http,
            self._url,
            key=access.key,
            headers=headers,
            body=body,
            parser=parser,
            timeouts=timeouts,
            cancellation=cancellation,
        )


def _body(prompt: Prompt, model: str) -> dict[str, object]:
    body: dict[str, object] = {"model": model, "max_tokens": prompt.max_tokens, "stream": True}
    body |= {"system": prompt.system, "messages": _messages(prompt.messages)}
    tools = [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in prompt.tools]
    if prompt.shape:
        tools = [{"name": prompt.shape.name, "description": "Give the answer.", "input_schema": prompt.shape.schema}]
        body["tool_choice"] = {"type": "tool", "name": prompt.shape.name}
    if tools:
        body["tools"] = tools
    return body


def _messages(messages: Iterable[Message]) -> list[dict[str, object]]:
    """Merge messages so that the roles alternate: the results of several tools form one message of the user."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role is MessageRole.ASSISTANT else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += _blocks(message)
        else:
            turns.append({"role": role, "content": _blocks(message)})
    return turns


def _blocks(message: Message) -> list[dict[str, object]]:
    if message.call_id is not None:
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.text}]
    blocks: list[dict[str, object]] = [{"type": "text", "text": message.text}] if message.text else []
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": orjson.loads(call.arguments or "{}")}
        for call in message.calls
    ]


class MessageEventParser:
    """Parser of the events of one message. If `is_shaped`, the input of the forced tool is the text of the reply."""

    def __init__(self, *, is_shaped: bool) -> None:
        self._is_shaped = is_shaped
        self._calls: dict[int, str] = {}
        self._reason: StopReason | None = None

    def feed(self, data: dict[str, Any]) -> Sequence[Event]:
        """Parse one event. Unknown types are ignored, as the API requires."""
        try:
            match data.get("type"):
                case "content_block_delta":
                    return self._delta(data["index"], data["delta"])
                case "content_block_start":
                    return self._start(data["index"], data["content_block"])
                case "message_start":
                    # The output count of this event is a placeholder of 1, not the output of the call.
                    return [TokenUsage(_input_tokens(data["message"].get("usage") or {}))]
                case "message_delta":
                    self._reason = _REASONS.get(data["delta"].get("stop_reason"), StopReason.OTHER)
                    usage = data.get("usage") or {}
                    return [TokenUsage(_input_tokens(usage), read_token_count(usage.get("output_tokens")))]
                case "message_stop":
                    return self.end()
                case str():
                    return ()
                case _:
                    raise InvalidModelResponse("The model provider sent an event without a type")
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidModelResponse("The model provider sent an invalid event") from error

    def _delta(self, index: int, delta: dict[str, object]) -> Sequence[Event]:
        match delta["type"]:
            case "text_delta":
                return (self._text_event(_text(delta["text"])),)
            case "thinking_delta":
                return (HiddenDelta(_text(delta.get("thinking") or "")),)
            case "input_json_delta" if delta["partial_json"]:
                text = _text(delta["partial_json"])
                return (TextDelta(text) if self._is_shaped else ToolDelta(self._calls[index], text),)
            case _:
                return ()

    def _start(self, index: int, block: dict[str, object]) -> Sequence[Event]:
        if block["type"] == "tool_use" and not self._is_shaped:
            self._calls[index] = call_id = _text(block["id"])
            start = ToolStart(call_id, _text(block["name"]))
            # Compatible servers may send the whole input here.
            return (
                (start, ToolDelta(call_id, orjson.dumps(block["input"]).decode())) if block.get("input") else (start,)
            )
        if block["type"] == "text" and block.get("text"):
            return (self._text_event(_text(block["text"])),)
        return ()

    def _text_event(self, text: str) -> Event:
        """Return the event of a piece of text. Text next to a forced tool call is not part of the reply."""
        return HiddenDelta(text) if self._is_shaped else TextDelta(text)

    def end(self) -> Sequence[Event]:
        """Return the last event.

        Raises:
            InvalidModelResponse: the provider did not send a stop reason.
        """
        if self._reason is None:
            raise InvalidModelResponse("The model provider sent an incomplete reply")
        is_forced_call = self._is_shaped and self._reason is StopReason.TOOLS
        return (Stop(StopReason.STOP if is_forced_call else self._reason),)


def _input_tokens(usage: dict[str, object]) -> int | None:
    """Return the input tokens with the cached ones, or None if no valid count is reported."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = [read_token_count(usage.get(name)) for name in names]
    valid = [count for count in counts if count is not None]
    return read_token_count(sum(valid)) if valid else None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
