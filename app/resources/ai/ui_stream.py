"""Frames of the AI SDK's UI message stream, protocol version 1 (contract 4.12)."""

from collections.abc import Mapping
from typing import Any

import orjson

HEADERS: Mapping[str, str] = {"x-vercel-ai-ui-message-stream": "v1"}
DONE = b"data: [DONE]\n\n"


def part(kind: str, **fields: Any) -> bytes:
    """Return one frame."""
    return b"data: " + orjson.dumps({"type": kind, **fields}) + b"\n\n"


def start(message_id: str) -> bytes:
    """Return the first frames of a message."""
    return part("start", messageId=message_id) + part("start-step")


def finish(reason: str) -> bytes:
    """Return the last frames of a complete message."""
    return part("finish-step") + part("finish", finishReason=reason)


def error(text: str) -> bytes:
    """Return the frame of an error. Only the end follows it."""
    return part("error", errorText=text)


class Text:
    """A text of a message. The first piece opens it."""

    def __init__(self, text_id: str) -> None:
        self._id = text_id
        self._prefix = b'data: {"type":"text-delta","id":' + orjson.dumps(text_id) + b',"delta":'
        self._open = False

    def delta(self, text: str) -> bytes:
        """Return the frame of the next piece."""
        frame = self._prefix + orjson.dumps(text) + b"}\n\n"
        if self._open:
            return frame
        self._open = True
        return part("text-start", id=self._id) + frame

    def end(self) -> bytes:
        """Return the frame of the end, or nothing if the text is empty."""
        if not self._open:
            return b""
        self._open = False
        return part("text-end", id=self._id)
