"""The AI SDK's UI message stream, protocol version 1, as bytes (contract 4.12); knows no model."""

from collections.abc import Mapping
from typing import Any

import orjson

HEADERS: Mapping[str, str] = {"x-vercel-ai-ui-message-stream": "v1"}
DONE = b"data: [DONE]\n\n"


def part(kind: str, **fields: Any) -> bytes:
    """One frame."""
    return b"data: " + orjson.dumps({"type": kind, **fields}) + b"\n\n"


def start(message_id: str) -> bytes:
    """The first frames of every message."""
    return part("start", messageId=message_id) + part("start-step")


def finish(reason: str) -> bytes:
    """The last frames of a whole message."""
    return part("finish-step") + part("finish", finishReason=reason)


def error(text: str) -> bytes:
    """The frame of a failure; nothing but the end comes after it."""
    return part("error", errorText=text)


class Text:
    """One text of a message, opened by its first piece."""

    def __init__(self, text_id: str) -> None:
        self._id = text_id
        self._prefix = b'data: {"type":"text-delta","id":' + orjson.dumps(text_id) + b',"delta":'
        self._open = False

    def delta(self, text: str) -> bytes:
        """Some more of it."""
        frame = self._prefix + orjson.dumps(text) + b"}\n\n"
        if self._open:
            return frame
        self._open = True
        return part("text-start", id=self._id) + frame

    def end(self) -> bytes:
        """Its end; nothing for a text that never began."""
        if not self._open:
            return b""
        self._open = False
        return part("text-end", id=self._id)
