"""Positions of the texts in a YAML document."""

import json
from collections import Counter
from collections.abc import Iterator

from app.content.front_matter.edits import UnsupportedEdit
from app.content.front_matter.yaml_reader import resolve
from app.content.front_matter.yaml_tree import Kind, Node, compose
from app.content.marks.values import Path, StringValue


def yaml_strings(text: str) -> Iterator[StringValue]:
    """Yield the strings of a document that the caller has read, except those with a tag."""
    try:
        root = compose(text, requires_mapping=False)
    except UnsupportedEdit:
        return
    if root is not None:
        yield from _strings(text, root, ())


def _strings(text: str, node: Node, path: Path) -> Iterator[StringValue]:
    if node.kind is Kind.SCALAR:
        string = _string(text, node, path)
        if string is not None:
            yield string
    elif node.kind is Kind.SEQUENCE:
        for index, child in enumerate(node.children):
            yield from _strings(text, child, (*path, index))
    elif node.kind is Kind.MAPPING:
        pairs = [(_name(key), value) for key, value in node.pairs if key.kind is Kind.SCALAR]
        counts = Counter(name for name, _ in pairs)
        for name, value in pairs:
            if counts[name] == 1 and name != "<<":
                yield from _strings(text, value, (*path, name))


def _name(key: Node) -> str:
    name = resolve(key.text) if key.style is None else key.text
    return name if isinstance(name, str) else json.dumps(name)


def _string(text: str, node: Node, path: Path) -> StringValue | None:
    """Return the text of a scalar, and the end of its content: without quotes and without empty lines at the end."""
    written = text[node.start : node.end]
    if not written or written[0] in "!&" or (node.style is None and resolve(node.text) != node.text):
        return None
    if node.style in ("'", '"'):
        return StringValue(path, node.text, node.start, node.end - 1)
    if node.style in ("|", ">"):
        return StringValue(path, node.text.rstrip("\n"), node.start, node.start + len(written.rstrip()))
    return StringValue(path, node.text, node.start, node.end)
