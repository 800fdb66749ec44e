"""Positions of the values in a YAML document, from the events of libyaml, and the lines of its entries and items."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import yaml

from app.content.front_matter.edits import UnsupportedEdit
from app.content.front_matter.yaml_reader import read_yaml

_PROPERTIES = re.compile(r"(?:[&!]\S*+\s++)*+")
_DASH = re.compile(r"(?:\s++|#[^\n]*+\n)*+-(?=\s|\Z)")


class Kind(Enum):
    """The kind of a node."""

    SCALAR = "scalar"
    SEQUENCE = "sequence"
    MAPPING = "mapping"
    ALIAS = "alias"


@dataclass(frozen=True)
class Node:
    """A value in the text. The end of a block collection is the start of the next token.

    `children` contains the items of a sequence, or the keys and values of a mapping in alternating order.
    """

    kind: Kind
    start: int
    end: int
    style: str | None = None
    text: str = ""
    is_inline: bool = False
    children: tuple["Node", ...] = ()

    @property
    def has_exact_end(self) -> bool:
        """Return whether `end` is the end of the written value: false for block collections and block scalars."""
        return self.is_inline or self.kind is Kind.ALIAS or (self.kind is Kind.SCALAR and self.style not in ("|", ">"))

    @property
    def plain_text(self) -> str | None:
        """The text of a plain scalar, or None."""
        return self.text if self.kind is Kind.SCALAR and not self.style else None

    @property
    def pairs(self) -> list[tuple["Node", "Node"]]:
        """Keys and values of a mapping."""
        return list(zip(self.children[::2], self.children[1::2], strict=True))

    def has_block_scalar(self) -> bool:
        """Return whether the value is or contains a block scalar."""
        return self.style in ("|", ">") or any(child.has_block_scalar() for child in self.children)


def compose(text: str, *, requires_mapping: bool = True) -> Node | None:
    """Return the root, or None for an empty document. The reader of the caller has already limited the depth.

    Raises:
        UnsupportedEdit: the document is not a mapping, and must be one.
    """
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        root = next(
            (_node(events, next(events)) for event in events if isinstance(event, yaml.DocumentStartEvent)), None
        )
    except (yaml.YAMLError, RecursionError) as error:
        raise UnsupportedEdit("The front matter cannot be read") from error
    if root is None or (root.kind is Kind.SCALAR and not root.text):
        return None
    if requires_mapping and root.kind is not Kind.MAPPING:
        raise UnsupportedEdit("The front matter is not a mapping")
    return root


def _index(mark: Any) -> int:
    """Return the position of a mark. Every event of libyaml has marks, although the annotations permit None."""
    return int(mark.index)


def _node(events: Iterator[yaml.Event], event: yaml.Event) -> Node:
    start, end = _index(event.start_mark), _index(event.end_mark)
    if isinstance(event, yaml.AliasEvent):
        return Node(Kind.ALIAS, start, end)
    if isinstance(event, yaml.ScalarEvent):
        return Node(Kind.SCALAR, start, end, event.style or None, event.value)
    children = []
    while not isinstance(child := next(events), yaml.CollectionEndEvent):
        children.append(_node(events, child))
    kind = Kind.SEQUENCE if isinstance(event, yaml.SequenceStartEvent) else Kind.MAPPING
    is_inline = bool(getattr(event, "flow_style", False))
    return Node(kind, start, _index(child.end_mark), is_inline=is_inline, children=tuple(children))


@dataclass(frozen=True)
class Entry:
    """A key of a block mapping: its first character, its lines, its value and the limit of the value's lines."""

    first: int
    start: int
    end: int
    key_end: int
    node: Node
    value_end: int
    column: int
    limit: int
    follows_dash: bool


@dataclass(frozen=True)
class Item:
    """An item of a block sequence: its dash, its lines, its value and the limit of the value's lines."""

    first: int
    start: int
    end: int
    node: Node
    value_end: int
    column: int
    limit: int
    follows_dash: bool
    has_gap: bool


def entries_of(text: str, node: Node, limit: int) -> dict[str, Entry]:
    """Return the entries of a block mapping by key.

    Raises:
        UnsupportedEdit: a key occurs twice.
    """
    entries: dict[str, Entry] = {}
    pairs = node.pairs
    for index, (key, value) in enumerate(pairs):
        name = key_name(text[key.start : key.end])
        if name in entries:
            raise UnsupportedEdit(f"“{name}” occurs twice in the front matter")
        following = pairs[index + 1][0].start if index + 1 < len(pairs) else limit
        entries[name] = _entry(text, key, value, _line_limit(text, following))
    return entries


def key_name(written: str) -> str:
    """Return the key that is written in YAML as `written`."""
    try:
        [name] = read_yaml(f"{{? {written} : 0}}")
    except ValueError as error:
        raise UnsupportedEdit("A key of the front matter uses a notation that is not supported") from error
    return str(name)


def _entry(text: str, key: Node, value: Node, limit: int) -> Entry:
    start = text.rfind("\n", 0, key.start) + 1
    before = text[start : key.start]
    is_explicit = before.strip() == "?"
    follows_dash = bool(before.strip()) and not is_explicit
    column = len(before) - len(before.lstrip(" ")) if not follows_dash else len(before)
    value_end, end = _ends(text, value, limit)
    return Entry(key.start, start, end, key.end, value, value_end, column, limit, follows_dash)


def items_of(text: str, node: Node, limit: int) -> list[Item]:
    """Return the items of a block sequence."""
    dashes = _dashes(text, node)
    limits = [_line_limit(text, dash) for dash in dashes[1:]] + [_line_limit(text, limit)]
    return [_item(text, dash, child, end) for dash, child, end in zip(dashes, node.children, limits, strict=True)]


def _dashes(text: str, node: Node) -> list[int]:
    properties = _PROPERTIES.match(text, node.start)
    position = properties.end() if properties else node.start
    dashes = []
    for child in node.children:
        dash = _DASH.match(text, position)
        if dash is None:
            raise UnsupportedEdit("A list of the front matter uses a notation that is not supported")
        dashes.append(dash.end() - 1)
        position = max(child.end, dash.end()) if child.has_exact_end else _before_next_token(text, child)
    return dashes


def _before_next_token(text: str, node: Node) -> int:
    """Return the end of the last line of a block value. The parser ends it at the next token."""
    return node.start + len(text[node.start : node.end].rstrip())


def _item(text: str, dash: int, node: Node, limit: int) -> Item:
    start = text.rfind("\n", 0, dash) + 1
    value_end, end = _ends(text, node, limit)
    return Item(
        dash,
        start,
        end,
        node,
        max(value_end, dash + 1),
        dash - start,
        limit,
        follows_dash=bool(text[start:dash].strip()),
        has_gap=node.start > dash + 1,
    )


def _line_limit(text: str, position: int) -> int:
    """Return the start of the line at `position`, which ends the lines of the value before it."""
    return text.rfind("\n", 0, position) + 1 if position < len(text) else position


def _ends(text: str, node: Node, limit: int) -> tuple[int, int]:
    """Return the end of a value and the end of its last line."""
    stop = node.end
    if not node.has_exact_end:
        stop = _last_line_end(text, node.start, max(limit, node.start), node.has_block_scalar())
    line_end = text.find("\n", stop)
    return stop, len(text) if line_end < 0 else line_end + 1


def _last_line_end(text: str, start: int, limit: int, has_block_scalar: bool) -> int:
    """Return the end of the last line before `limit` that is neither empty nor a comment of the following lines."""
    end = limit
    while end > start:
        line_start = text.rfind("\n", 0, max(end - 1, 0)) + 1
        line = text[line_start:end]
        content = line.strip()
        is_comment = content.startswith("#") and not (has_block_scalar and line[:1].isspace())
        if content and not is_comment:
            return line_start + len(line.rstrip("\r\n"))
        if line_start <= start:
            break
        end = line_start
    return start
