"""Positions of the values in a YAML document, from the events of libyaml."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import yaml

from app.content.front_matter.edits import UnsupportedEdit


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


def compose(text: str) -> Node | None:
    """Return the root mapping, or None for an empty document. The reader of the caller has already limited the depth.

    Raises:
        UnsupportedEdit: the document is not a mapping.
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
    if root.kind is not Kind.MAPPING:
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
