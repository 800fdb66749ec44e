"""Conversion of editor nodes (Slate, with the names of Plate) to Markdown.

Unknown nodes are converted to their text, so that an element of a plug-in does not make a document unreadable.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

Node = Mapping[str, Any]

_MARKS = (("bold", "**"), ("italic", "_"), ("strikethrough", "~~"))
_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>"})
_LINE_START = re.compile(r"^([^\S\n]*)(#{1,6}(?=\s|$)|[-+](?=\s|$)|~{3,}|=+(?=\s*$)|-{2,})", re.MULTILINE)
_NUMBERED = re.compile(r"^([^\S\n]*\d{1,9})([.)])(?=\s|$)", re.MULTILINE)
_HEADING = re.compile(r"h([1-6])")
_LISTS = ("ul", "ol", "taskList", "action_item")


def to_markdown(nodes: Sequence[Node]) -> str:
    """Return the blocks as Markdown, separated by blank lines except within a list."""
    return "\n\n".join(block for block in _blocks(nodes) if block.strip())


def plain_text(node: Node) -> str:
    """Return the text of a node without marks."""
    if isinstance(node.get("text"), str):
        return str(node["text"])
    return "".join(plain_text(child) for child in _children(node))


def _children(node: Node) -> list[Node]:
    children = node.get("children")
    return [child for child in children if isinstance(child, dict)] if isinstance(children, list) else []


def _blocks(nodes: Sequence[Node]) -> list[str]:
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
