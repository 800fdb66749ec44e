"""The editor's command: what it is about, and which of the three things is wanted (contract 4.12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.core.beside import Blocks
from app.core.errors import Invalid
from app.drivers.ai.port import Message, Prompt, Role
from app.resources.ai import answering, messages, prompts, selections, slate
from app.resources.ai.conversation import Answer, Conversation

DOCUMENT_CHARACTERS = 200_000


class ToolName(StrEnum):
    """What the editor wants done."""

    GENERATE = "generate"
    EDIT = "edit"
    COMMENT = "comment"


@dataclass(frozen=True)
class Command:
    """A command, ready to be asked."""

    tool: ToolName
    prompt: Prompt
    blocks: Mapping[str, str]

    def answer(self, conversation: Conversation) -> Blocks:
        """Ask, and give the answer's stream."""
        answer: Answer = conversation.ask(self.prompt)
        if self.tool is ToolName.COMMENT:
            return answering.comments(conversation, answer, blocks=self.blocks)
        return answering.text(conversation, answer)


def read(body: Mapping[str, Any], *, most_characters: int) -> Command:
    """What a body asks for.

    Raises:
        Invalid: nothing is asked, the document is too long, or there is no block to comment on.
    """
    said = _turns(body, most_characters)
    context = body.get("ctx") or {}
    nodes: Sequence[slate.Node] = context.get("children") or ()
    document = slate.to_markdown(nodes) if nodes else context.get("markdown") or ""
    if len(document) > DOCUMENT_CHARACTERS:
        raise Invalid.field("ctx", f"The document may have at most {DOCUMENT_CHARACTERS:,} characters")
    tool = ToolName(context.get("toolName") or ToolName.GENERATE)
    if tool is ToolName.COMMENT:
        blocks = _blocks(nodes)
        return Command(tool, prompts.comment(said, blocks), blocks)
    if tool is ToolName.EDIT:
        selection = slate.to_markdown(selections.selected(nodes, context.get("selection")))
        return Command(tool, prompts.edit(said, document, selection), {})
    return Command(tool, prompts.generate(said, document), {})


def _turns(body: Mapping[str, Any], most_characters: int) -> tuple[Message, ...]:
    if body.get("messages"):
        return messages.turns(body["messages"], most_characters=most_characters)
    if body.get("prompt"):
        return (Message(Role.USER, body["prompt"]),)
    raise Invalid.field("messages", "Send messages or a prompt")


def _blocks(nodes: Sequence[slate.Node]) -> dict[str, str]:
    """The text of each block that has an id."""
    found = {str(node["id"]): slate.plain_text(node) for node in nodes if isinstance(node.get("id"), str)}
    blocks = {block_id: text for block_id, text in found.items() if text.strip()}
    if not blocks:
        raise Invalid.field("ctx.children", "There is no block with an id and a text to comment on")
    return blocks
