"""Commands of the rich-text editor, and the part of its document that a Slate range selects (contract 4.12)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.concurrency.background import Blocks
from app.core.errors import InvalidRequest
from app.drivers.ai.port import Message, MessageRole, Prompt
from app.resources.ai import messages, prompts, streams
from app.resources.ai.conversation import Conversation, MeteredStream

Node = Mapping[str, object]

_MARKS = (("bold", "**"), ("italic", "_"), ("strikethrough", "~~"))
_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>"})
_LINE_START = re.compile(r"^([^\S\n]*)(#{1,6}(?=\s|$)|[-+](?=\s|$)|~{3,}|=+(?=\s*$)|-{2,})", re.MULTILINE)
_NUMBERED = re.compile(r"^([^\S\n]*\d{1,9})([.)])(?=\s|$)", re.MULTILINE)
_HEADING = re.compile(r"h([1-6])")
_LISTS = ("ul", "ol", "taskList", "action_item")
DOCUMENT_CHARACTERS = 200_000
Path = tuple[int, ...]
Point = tuple[Path, int]


def to_markdown(nodes: Sequence[Node]) -> str:
    """Return the blocks as Markdown, separated by blank lines except within a list."""
    return "\n\n".join(block for block in _rendered_blocks(nodes) if block.strip())


def plain_text(node: Node) -> str:
    """Return the text of a node without marks."""
    if isinstance(node.get("text"), str):
        return str(node["text"])
    return "".join(plain_text(child) for child in _children(node))


def _children(node: Node) -> list[Node]:
    children = node.get("children")
    return [child for child in children if isinstance(child, dict)] if isinstance(children, list) else []


def _rendered_blocks(nodes: Sequence[Node]) -> list[str]:
    """Return the blocks and join neighbouring items of an indented list."""
    blocks: list[str] = []
    items: list[str] = []
    for node in nodes:
        if _is_indented_item(node):
            items.append(_indented_item(node))
            continue
        if items:
            blocks.append("\n".join(items))
            items = []
        blocks.append(_block(node))
    if items:
        blocks.append("\n".join(items))
    return blocks


def _is_indented_item(node: Node) -> bool:
    return isinstance(node.get("listStyleType"), str)


def _indented_item(node: Node) -> str:
    indent = node.get("indent")
    depth = max(0, (indent if isinstance(indent, int) else 1) - 1)
    style = node["listStyleType"]
    if style == "todo":
        mark = "- [x]" if node.get("checked") is True else "- [ ]"
    elif style == "decimal":
        start = node.get("listStart")
        mark = f"{start if isinstance(start, int) else 1}."
    else:
        mark = "-"
    return f"{'    ' * depth}{mark} {_inline(node)}"


def _block(node: Node) -> str:
    kind = str(node.get("type", "p"))
    if heading := _HEADING.fullmatch(kind):
        return f"{'#' * int(heading[1])} {_inline(node)}"
    if kind == "code_block":
        return _code(node)
    if kind in ("blockquote", "callout"):
        return _quote(node)
    if kind in _LISTS:
        return _list(node, kind, 0)
    if kind == "table":
        return _table(node)
    return _leaf_block(node, kind)


def _leaf_block(node: Node, kind: str) -> str:
    if kind == "hr":
        return "---"
    if kind in ("img", "image", "media_embed", "video", "file", "audio"):
        return _media(node, kind)
    if kind == "equation":
        return f"$$\n{node.get('texExpression', '')}\n$$"
    if any(_is_block(child) for child in _children(node)):
        return to_markdown(_children(node))
    text = _inline(node)
    return _NUMBERED.sub(r"\1\\\2", _LINE_START.sub(r"\1\\\2", text))


def _is_block(node: Node) -> bool:
    inline = ("a", "link", "mention", "inline_equation", "date", "footnoteReference")
    return isinstance(node.get("children"), list) and node.get("type") not in inline


def _code(node: Node) -> str:
    text = "\n".join(plain_text(child) for child in _children(node))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    language = node.get("lang")
    return f"{fence}{language if isinstance(language, str) else ''}\n{text}\n{fence}"


def _quote(node: Node) -> str:
    blocks = any(_is_block(child) for child in _children(node))
    inner = to_markdown(_children(node)) if blocks else _inline(node)
    return "\n".join(f"> {line}".rstrip() for line in inner.split("\n"))


def _list(node: Node, kind: str, depth: int) -> str:
    lines: list[str] = []
    for number, item in enumerate(_children(node), 1):
        mark = f"{number}." if kind == "ol" else "-"
        if isinstance(item.get("checked"), bool):
            mark = "- [x]" if item["checked"] else "- [ ]"
        own = [child for child in _children(item) if child.get("type") not in _LISTS]
        text = " ".join(_inline(child) for child in own)
        lines.append(f"{'    ' * depth}{mark} {text}")
        lines += [_list(c, str(c["type"]), depth + 1) for c in _children(item) if c.get("type") in _LISTS]
    return "\n".join(lines)


def _table(node: Node) -> str:
    rows = [[_cell(cell) for cell in _children(row)] for row in _children(node)]
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])


def _cell(node: Node) -> str:
    text = "<br>".join(_inline(child) if _is_block(child) else _text(child) for child in _children(node))
    return text.replace("|", "\\|").replace("\n", "<br>")


def _media(node: Node, kind: str) -> str:
    url = node.get("url")
    caption = node.get("caption")
    label = "".join(plain_text(part) for part in caption if isinstance(part, dict)) if isinstance(caption, list) else ""
    alt = label or str(node.get("alt") or node.get("name") or "")
    return f"{'!' if kind in ('img', 'image') else ''}[{_escaped(alt)}]({url if isinstance(url, str) else ''})"


def _inline(node: Node) -> str:
    if isinstance(node.get("text"), str):
        return _text(node)
    return "".join(_inline_child(child) for child in _children(node))


def _inline_child(node: Node) -> str:
    kind = node.get("type")
    if isinstance(node.get("text"), str):
        return _text(node)
    if kind in ("a", "link") and isinstance(node.get("url"), str):
        return f"[{_inline(node)}]({node['url']})"
    if kind == "mention":
        return f"@{node.get('value', '')}"
    if kind == "inline_equation":
        return f"${node.get('texExpression', '')}$"
    if kind in ("img", "image"):
        return _media(node, "img")
    return _inline(node)


def _text(node: Node) -> str:
    """Return a leaf with its marks inside the surrounding white space, as Markdown requires."""
    text = str(node["text"])
    core = text.strip()
    if not core:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    core = _verbatim(core) if node.get("code") is True else _escaped(core)
    for name, mark in _MARKS:
        if node.get(name) is True:
            core = f"{mark}{core}{mark}"
    return f"{before}{core}{after}"


def _verbatim(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


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
    sent: Sequence[Mapping[str, object]] | None, prompt: str | None, context: Mapping[str, Any], *, max_characters: int
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
    nodes: Sequence[Node] = context.get("children") or ()
    document = to_markdown(nodes) if nodes else context.get("markdown") or ""
    if len(document) > DOCUMENT_CHARACTERS:
        raise InvalidRequest.field("ctx", f"The document may have at most {DOCUMENT_CHARACTERS:,} characters")
    tool = ToolName(context.get("toolName") or ToolName.GENERATE)
    if tool is ToolName.COMMENT:
        blocks = _blocks(nodes)
        return EditorCommand(tool, prompts.comment(turns, blocks), blocks)
    if tool is ToolName.EDIT:
        selection = to_markdown(selected(nodes, context.get("selection")))
        return EditorCommand(tool, prompts.edit(turns, document, selection), {})
    return EditorCommand(tool, prompts.generate(turns, document), {})


def _blocks(nodes: Sequence[Node]) -> dict[str, str]:
    """Return the text of each block with an id."""
    texts = {str(node["id"]): plain_text(node) for node in nodes if isinstance(node.get("id"), str)}
    blocks = {block_id: text for block_id, text in texts.items() if text.strip()}
    if not blocks:
        raise InvalidRequest.field("ctx.children", "The document must contain a block with an id and a text")
    return blocks


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
    changed: dict[str, object] = dict(node)
    if isinstance(text, str):
        changed["text"] = text[from_ if start is not None else 0 : to if end is not None else len(text)]
        return changed
    children = node.get("children")
    if isinstance(children, list):
        inner = [child for child in children if isinstance(child, dict)]
        changed["children"] = _cut(inner, start or None, from_, end or None, to)
    return changed
