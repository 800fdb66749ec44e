"""Commands of the rich-text editor, and the part of its document that a Slate range selects (contract 4.12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.concurrency.background import Blocks
from app.core.errors import InvalidRequest
from app.drivers.ai.port import Message, MessageRole, Prompt
from app.resources.ai import messages, prompts, slate, streams
from app.resources.ai.conversation import Conversation, MeteredStream
from app.resources.ai.slate import Node

DOCUMENT_CHARACTERS = 200_000


class ToolName(StrEnum):
    """The kind of command."""

    GENERATE = "generate"
    EDIT = "edit"
    COMMENT = "comment"


@dataclass(frozen=True)
class EditorCommand:
    """A parsed command with its prompt."""

    tool: ToolName
    prompt: Prompt
    blocks: Mapping[str, str]

    def answer(self, conversation: Conversation) -> Blocks:
        """Send the prompt and return the stream of the reply."""
        answer: MeteredStream = conversation.stream(self.prompt)
        if self.tool is ToolName.COMMENT:
            return streams.stream_comments(conversation, answer, blocks=self.blocks)
        return streams.stream_text(conversation, answer)


def read(
    sent: Sequence[Mapping[str, Any]] | None, prompt: str | None, context: Mapping[str, Any], *, max_characters: int
) -> EditorCommand:
    """Return the command for the messages or the prompt of a client, and the state of its editor.

    Raises:
        InvalidRequest: there is no instruction, the document is too long, or there is no block to comment on.
    """
    if sent:
        turns = messages.turns(sent, max_characters=max_characters)
    elif prompt:
        turns = (Message(MessageRole.USER, prompt),)
    else:
        raise InvalidRequest.field("messages", "Send messages or a prompt")
    nodes: Sequence[slate.Node] = context.get("children") or ()
    document = slate.to_markdown(nodes) if nodes else context.get("markdown") or ""
    if len(document) > DOCUMENT_CHARACTERS:
        raise InvalidRequest.field("ctx", f"The document may have at most {DOCUMENT_CHARACTERS:,} characters")
    tool = ToolName(context.get("toolName") or ToolName.GENERATE)
    if tool is ToolName.COMMENT:
        blocks = _blocks(nodes)
        return EditorCommand(tool, prompts.comment(turns, blocks), blocks)
    if tool is ToolName.EDIT:
        selection = slate.to_markdown(selected(nodes, context.get("selection")))
        return EditorCommand(tool, prompts.edit(turns, document, selection), {})
    return EditorCommand(tool, prompts.generate(turns, document), {})


def _blocks(nodes: Sequence[slate.Node]) -> dict[str, str]:
    """Return the text of each block with an id."""
    texts = {str(node["id"]): slate.plain_text(node) for node in nodes if isinstance(node.get("id"), str)}
    blocks = {block_id: text for block_id, text in texts.items() if text.strip()}
    if not blocks:
        raise InvalidRequest.field("ctx.children", "The document must contain a block with an id and a text")
    return blocks


Path = tuple[int, ...]
Point = tuple[Path, int]


def selected(nodes: Sequence[Node], selection: object) -> list[Node]:
    """Return the nodes of a range, with the first and last text cut at its points.

    Empty for a caret or no selection.
    """
    points = _points(selection)
    if points is None or points[0] == points[1]:
        return []
    start, end = points
    return _cut(nodes, start[0], start[1], end[0], end[1])


def _points(selection: object) -> tuple[Point, Point] | None:
    if not isinstance(selection, Mapping):
        return None
    anchor, focus = _point(selection.get("anchor")), _point(selection.get("focus"))
    if anchor is None or focus is None:
        return None
    return (anchor, focus) if anchor <= focus else (focus, anchor)


def _point(value: object) -> Point | None:
    if not isinstance(value, Mapping):
        return None
    path, offset = value.get("path"), value.get("offset")
    if not isinstance(path, list) or not all(isinstance(step, int) and step >= 0 for step in path):
        return None
    return (tuple(path), offset) if isinstance(offset, int) and offset >= 0 else None


def _cut(nodes: Sequence[Node], start: Path | None, from_: int, end: Path | None, to: int) -> list[Node]:
    """Return the nodes between two points. None means the start or the end."""
    first = start[0] if start else 0
    last = end[0] if end else len(nodes) - 1
    cut: list[Node] = []
    for at, node in enumerate(nodes[: last + 1]):
        if at < first:
            continue
        inner_start = start[1:] if start and at == first else None
        inner_end = end[1:] if end and at == last else None
        cut.append(_inside(node, inner_start, from_, inner_end, to))
    return cut


def _inside(node: Node, start: Path | None, from_: int, end: Path | None, to: int) -> Node:
    if start is None and end is None:
        return node
    text = node.get("text")
    changed: dict[str, Any] = dict(node)
    if isinstance(text, str):
        changed["text"] = text[from_ if start is not None else 0 : to if end is not None else len(text)]
        return changed
    children = node.get("children")
    if isinstance(children, list):
        inner = [child for child in children if isinstance(child, dict)]
        changed["children"] = _cut(inner, start or None, from_, end or None, to)
    return changed
