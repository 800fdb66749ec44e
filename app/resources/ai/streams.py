"""Streams in the AI SDK's UI message protocol: text, changed files with a diff, and comments on a document.

Each generator yields one block of frames per read from the provider, which may be empty. The usage is written before
the last frame, so that a client that has received it can send the next request.
"""

from collections.abc import Mapping
from functools import partial

import orjson

from app.concurrency.background import Blocks, FinalBlock, run_with_heartbeat
from app.core.ids import new_id
from app.drivers.ai.port import StopReason, TextDelta
from app.resources.ai import diffs
from app.resources.ai.conversation import Conversation, MeteredStream, closing
from app.resources.ai.errors import AnswerTooLong, InvalidAnswer
from app.resources.ai.stream_parsers import FenceStripper, JsonObjectScanner

HEADERS: Mapping[str, str] = {"x-vercel-ai-ui-message-stream": "v1"}
DONE = b"data: [DONE]\n\n"
TEXT_ID = "text_1"
MAX_COMMENTS = 50


def part(kind: str, **fields: object) -> bytes:
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


def new_message_id() -> str:
    """Return an id for a new message."""
    return new_id("msg")


def stream_text(conversation: Conversation, answer: MeteredStream) -> Blocks:
    """Stream the text."""
    with closing(conversation):
        yield start(new_message_id())
        out = Text(TEXT_ID)
        for batch in answer.batches():
            yield b"".join([out.delta(event.text) for event in batch if isinstance(event, TextDelta)])
        conversation.settle()
        yield FinalBlock(out.end() + finish(answer.reason))


def stream_rewrite(conversation: Conversation, answer: MeteredStream, *, old: str, path: str) -> Blocks:
    """Stream the new text of a file, then the diff. An incomplete reply is an error."""
    with closing(conversation):
        yield start(new_message_id())
        out, stripper = Text(TEXT_ID), FenceStripper(old)
        for batch in answer.batches():
            new = stripper.feed("".join([event.text for event in batch if isinstance(event, TextDelta)]))
            yield out.delta(new) if new else b""
        remaining = stripper.end()
        require_complete(answer.reason, stripper.text)
        diff = yield from run_with_heartbeat(partial(diffs.unified, path, old, stripper.text))
        edit = {"path": path, "diff": diff, "code": stripper.text}
        conversation.settle()
        last = (out.delta(remaining) if remaining else b"") + out.end()
        yield FinalBlock(last + part("data-diff", data=edit) + finish(answer.reason))


def require_complete(reason: StopReason, code: str) -> None:
    """Reject a reply that would cut off or empty a file. Raises AnswerTooLong, InvalidAnswer."""
    if reason is StopReason.LENGTH:
        raise AnswerTooLong
    if not code.strip():
        raise InvalidAnswer


def stream_comments(conversation: Conversation, answer: MeteredStream, *, blocks: Mapping[str, str]) -> Blocks:
    """Stream comments on existing blocks. Other text of the model is ignored."""
    with closing(conversation):
        yield start(new_message_id())
        scanner, count = JsonObjectScanner(), 0
        for batch in answer.batches():
            objects = scanner.feed("".join([event.text for event in batch if isinstance(event, TextDelta)]))
            parts = [part for part in (_comment(value, blocks) for value in objects) if part][: MAX_COMMENTS - count]
            count += len(parts)
            yield b"".join([_data_comment(part, "streaming") for part in parts])
        conversation.settle()
        yield FinalBlock(_data_comment(None, "finished") + finish(answer.reason))


def _comment(value: Mapping[str, object], blocks: Mapping[str, str]) -> dict[str, str] | None:
    block_id, text, content = value.get("blockId"), value.get("comment"), value.get("content")
    if not isinstance(block_id, str) or block_id not in blocks or not isinstance(text, str) or not text.strip():
        return None
    block = blocks[block_id]
    about = content if isinstance(content, str) and content and content in block else block
    return {"blockId": block_id, "comment": text.strip(), "content": about}


def _data_comment(comment: dict[str, str] | None, status: str) -> bytes:
    return part("data-comment", id=new_id("cmt"), data={"comment": comment, "status": status})
