"""Selected part of an editor's document: the nodes of a Slate range."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.resources.ai.slate import Node

Path = tuple[int, ...]
Point = tuple[Path, int]


def selected(nodes: Sequence[Node], selection: object) -> list[Node]:
    """Return the nodes of a range, with the first and last text cut at its points. Empty for a caret or no selection."""
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
