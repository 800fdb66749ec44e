"""Conversion of the AI SDK's UI messages to the messages of a prompt, within a length limit.

Only text is used: results of earlier tool calls are not trusted when a client sends them back.
"""

from collections.abc import Iterable, Mapping, Sequence

from app.core.errors import InvalidRequest
from app.drivers.ai.port import Message, MessageRole


def turns(messages: Sequence[Mapping[str, object]], *, max_characters: int) -> tuple[Message, ...]:
    """Return the newest messages that fit. They alternate and start with a message of the user.

    Raises:
        InvalidRequest: the last message has no text or is too long.
    """
    merged = list(_merged(messages))
    if not merged or merged[-1].role is not MessageRole.USER:
        raise InvalidRequest.field("messages", "The last message must be a message of the user with text")
    if len(merged[-1].text) > max_characters:
        raise InvalidRequest.field("messages", f"The last message may have at most {max_characters:,} characters")
    newest = _newest(merged, max_characters)
    while newest[0].role is not MessageRole.USER:
        newest = newest[1:]
    return tuple(newest)


def _merged(messages: Iterable[Mapping[str, object]]) -> Iterable[Message]:
    pending: Message | None = None
    for message in messages:
        role = MessageRole.ASSISTANT if message.get("role") == "assistant" else MessageRole.USER
        text = text_of(message)
        if not text:
            continue
        if pending is not None and pending.role is role:
            pending = Message(role, f"{pending.text}\n\n{text}")
            continue
        if pending is not None:
            yield pending
        pending = Message(role, text)
    if pending is not None:
        yield pending


def text_of(message: Mapping[str, object]) -> str:
    """Return the text of a message's parts, or its `content` from older clients."""
    parts = message.get("parts")
    if isinstance(parts, list):
        texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str)).strip()
    content = message.get("content")
    return content.strip() if isinstance(content, str) else ""


def _newest(merged: list[Message], max_characters: int) -> list[Message]:
    newest: list[Message] = []
    for message in reversed(merged):
        max_characters -= len(message.text)
        if max_characters < 0:
            break
        newest.insert(0, message)
    return newest
