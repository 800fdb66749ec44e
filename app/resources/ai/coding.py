"""Changing code: the whole new text and a diff, in one answer or as it comes."""

from typing import Any

from app.core.beside import Blocks
from app.core.threadpool import offload
from app.drivers.ai.port import Prompt
from app.resources.ai import answering, diffs
from app.resources.ai.conversation import Conversation, closing
from app.resources.ai.rewriting import Rewriting

NAMELESS = "code"


def whole(conversation: Conversation, prompt: Prompt, *, old: str, path: str) -> dict[str, Any]:
    """`{path, code, diff}` at once.

    Raises:
        AnswerTooLong, InvalidAnswer: what came is not the whole new text.
    """
    with closing(conversation):
        said = conversation.say(prompt)
    rewriting = Rewriting(old)
    rewriting.feed(said.text)
    rewriting.end()
    answering.check_whole(said.reason, rewriting.text)
    return {"path": path, "code": rewriting.text, "diff": offload(diffs.unified, path, old, rewriting.text)}


def streamed(conversation: Conversation, prompt: Prompt, *, old: str, path: str) -> Blocks:
    """The new text as it comes, then the diff."""
    return answering.rewritten(conversation, conversation.ask(prompt), old=old, path=path)
