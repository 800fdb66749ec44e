"""Changes of code: the complete new text with a diff, at once or as a stream."""

from typing import Any

from app.concurrency.background import Blocks
from app.drivers.ai.port import Prompt
from app.resources.ai import diffs, streams
from app.resources.ai.conversation import Conversation, closing
from app.resources.ai.fence_stripper import FenceStripper

DEFAULT_PATH = "code"


def complete(conversation: Conversation, prompt: Prompt, *, old: str, path: str) -> dict[str, Any]:
    """Return `{path, code, diff}`.

    Raises:
        AnswerTooLong, InvalidAnswer: the reply is not a complete new text.
    """
    with closing(conversation):
        reply = conversation.complete(prompt)
    stripper = FenceStripper(old)
    stripper.feed(reply.text)
    stripper.end()
    streams.require_complete(reply.reason, stripper.text)
    return {"path": path, "code": stripper.text, "diff": diffs.unified(path, old, stripper.text)}


def stream(conversation: Conversation, prompt: Prompt, *, old: str, path: str) -> Blocks:
    """Stream the new text, then the diff."""
    return streams.stream_rewrite(conversation, conversation.stream(prompt), old=old, path=path)
