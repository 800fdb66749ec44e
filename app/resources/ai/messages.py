"""What a chat client sends (the AI SDK's UI messages) as turns for a model, cut to what a model is to be given.

Only text goes on: what an earlier answer's tools found is not believed when a client sends it back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.core.errors import Invalid
from app.drivers.ai.port import Message, Role


def turns(messages: Sequence[Mapping[str, Any]], *, most_characters: int) -> tuple[Message, ...]:
    """The newest turns that fit, merged so that they alternate and begin with the user's.

    Raises:
        Invalid: nobody asks anything, or the last turn alone is too long.
    """
    said = list(_merged(messages))
    if not said or said[-1].role is not Role.USER:
        raise Invalid.field("messages", "The last message must be the user's, with some text")
    if len(said[-1].text) > most_characters:
        raise Invalid.field("messages", f"The last message may have at most {most_characters:,} characters")
    kept = _newest(said, most_characters)
    while kept[0].role is not Role.USER:
        kept = kept[1:]
    return tuple(kept)


def _merged(messages: Iterable[Mapping[str, Any]]) -> Iterable[Message]:
    pending: Message | None = None
    for message in messages:
        role = Role.ASSISTANT if message.get("role") == "assistant" else Role.USER
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


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message's parts, or its `content` where a client still sends that."""
    parts = message.get("parts")
    if isinstance(parts, list):
        texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(text for text in texts if isinstance(text, str)).strip()
    content = message.get("content")
    return content.strip() if isinstance(content, str) else ""


def _newest(said: list[Message], most_characters: int) -> list[Message]:
    kept: list[Message] = []
    for message in reversed(said):
        most_characters -= len(message.text)
        if most_characters < 0:
            break
        kept.insert(0, message)
    return kept
