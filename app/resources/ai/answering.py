"""Answers as UI message streams: text, a file's new text with its diff, comments on a document. Knows no request.

Each is a generator of blocks of frames, one block for what one read from the provider brought, be it nothing. The price
is settled before the last frame, so that who has read it may ask again.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from app.core.beside import Blocks, Last, meanwhile
from app.core.ids import new_id
from app.core.threadpool import offload
from app.drivers.ai.port import StopReason, TextDelta
from app.resources.ai import diffs, ui_stream
from app.resources.ai.conversation import Answer, Conversation, closing
from app.resources.ai.errors import AnswerTooLong, InvalidAnswer
from app.resources.ai.objects import ObjectScanner
from app.resources.ai.rewriting import Rewriting

TEXT_ID = "text_1"
MOST_COMMENTS = 50


def new_message_id() -> str:
    """An id for a message of ours."""
    return new_id("msg")


def text(conversation: Conversation, answer: Answer) -> Blocks:
    """The text as it comes."""
    with closing(conversation):
        yield ui_stream.start(new_message_id())
        out = ui_stream.Text(TEXT_ID)
        for batch in answer.batches():
            yield b"".join([out.delta(event.text) for event in batch if isinstance(event, TextDelta)])
        conversation.settle()
        yield Last(out.end() + ui_stream.finish(answer.reason))


def rewritten(conversation: Conversation, answer: Answer, *, old: str, path: str) -> Blocks:
    """A file's new text as it comes, then the diff. An answer that was cut off is no new text."""
    with closing(conversation):
        yield ui_stream.start(new_message_id())
        out, rewriting = ui_stream.Text(TEXT_ID), Rewriting(old)
        for batch in answer.batches():
            new = rewriting.feed("".join([event.text for event in batch if isinstance(event, TextDelta)]))
            yield out.delta(new) if new else b""
        rest = rewriting.end()
        check_whole(answer.reason, rewriting.text)
        diff = yield from meanwhile(partial(offload, diffs.unified, path, old, rewriting.text))
        edit = {"path": path, "diff": diff, "code": rewriting.text}
        conversation.settle()
        last = (out.delta(rest) if rest else b"") + out.end()
        yield Last(last + ui_stream.part("data-diff", data=edit) + ui_stream.finish(answer.reason))


def check_whole(reason: StopReason, code: str) -> None:
    """Refuse what would cut off or empty a file. Raises AnswerTooLong, InvalidAnswer."""
    if reason is StopReason.LENGTH:
        raise AnswerTooLong
    if not code.strip():
        raise InvalidAnswer


def comments(conversation: Conversation, answer: Answer, *, blocks: Mapping[str, str]) -> Blocks:
    """Comments as they come, each on a block there is; what else the model says is passed over."""
    with closing(conversation):
        yield ui_stream.start(new_message_id())
        scanner, made = ObjectScanner(), 0
        for batch in answer.batches():
            found = scanner.feed("".join([event.text for event in batch if isinstance(event, TextDelta)]))
            parts = [part for part in (_comment(value, blocks) for value in found) if part][: MOST_COMMENTS - made]
            made += len(parts)
            yield b"".join([_data_comment(part, "streaming") for part in parts])
        conversation.settle()
        yield Last(_data_comment(None, "finished") + ui_stream.finish(answer.reason))


def _comment(value: Mapping[str, Any], blocks: Mapping[str, str]) -> dict[str, str] | None:
    block_id, said, content = value.get("blockId"), value.get("comment"), value.get("content")
    if not isinstance(block_id, str) or block_id not in blocks or not isinstance(said, str) or not said.strip():
        return None
    block = blocks[block_id]
    about = content if isinstance(content, str) and content and content in block else block
    return {"blockId": block_id, "comment": said.strip(), "content": about}


def _data_comment(comment: dict[str, str] | None, status: str) -> bytes:
    return ui_stream.part("data-comment", id=new_id("cmt"), data={"comment": comment, "status": status})
