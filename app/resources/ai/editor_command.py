"""Commands of the rich-text editor (contract 4.12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.concurrency.background import Blocks
from app.core.errors import InvalidRequest
from app.drivers.ai.port import Message, MessageRole, Prompt
from app.resources.ai import messages, prompts, selections, slate, streams
from app.resources.ai.conversation import Conversation, MeteredStream

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
        selection = slate.to_markdown(selections.selected(nodes, context.get("selection")))
        return EditorCommand(tool, prompts.edit(turns, document, selection), {})
    return EditorCommand(tool, prompts.generate(turns, document), {})


def _blocks(nodes: Sequence[slate.Node]) -> dict[str, str]:
    """Return the text of each block with an id."""
    texts = {str(node["id"]): slate.plain_text(node) for node in nodes if isinstance(node.get("id"), str)}
    blocks = {block_id: text for block_id, text in texts.items() if text.strip()}
    if not blocks:
        raise InvalidRequest.field("ctx.children", "The document must contain a block with an id and a text")
    return blocks
