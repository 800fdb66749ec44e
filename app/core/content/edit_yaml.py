"""Changing single keys of a YAML mapping in its text; all that is not about those keys stays as it is.

What it returns still has to be read again and compared by its caller: YAML has more ways of writing than are known here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from app.core.content.edits import CannotKeep, Edit
from app.core.content.yaml_values import read_yaml
from app.core.content.yaml_writing import LIKE_DATE, block, flow, literal, scalar

_DATE_KEYS = re.compile(
    r"date|lastmod|updated|modified|created|published|(publish|expiry|pub|updated|created).?(date|at|on)", re.IGNORECASE
)
_ALIAS = re.compile(r"\*[^\s,\[\]{}]+")


@dataclass(frozen=True)
class _Entry:
    """A top-level key: where its line begins, where its value stands, and where the next line after it begins."""

    name: str
    start: int
    key_end: int
    value_start: int
    value_end: int
    end: int
    node: yaml.Node
    column: int

    @property
    def is_plain_date(self) -> bool:
        node = self.node
        return isinstance(node, yaml.ScalarNode) and not node.style and bool(LIKE_DATE.match(node.value))


def edit_yaml(text: str, edit: Edit) -> str:
    """The text with the edit made. Raises CannotKeep."""
    root = _compose(text)
    if root is not None and root.flow_style and (edit.unset or edit.values.keys() - edit.old.keys()):
        raise CannotKeep("The front matter is one mapping in braces, which keys cannot be put into or taken out of")
    entries = {entry.name: entry for entry in _entries(text, root)} if root is not None else {}
    missing = [key for key in edit.unset if key not in entries]
    if missing:
        raise CannotKeep(f"“{missing[0]}” comes from another place of the front matter and cannot be taken out")
    pieces = [(entries[key].start, entries[key].end, "") for key in edit.unset]
    writer = _Writer(text, edit, root)
    pieces += [writer.changed(entries[key], value) for key, value in edit.values.items() if key in entries]
    place = max((entry.end for entry in entries.values()), default=len(text))
    column = min((entry.column for entry in entries.values()), default=0)
    added = "".join(writer.added(key, value, column) for key, value in edit.values.items() if key not in entries)
    return _applied(text, [*pieces, (place, place, added)])


def _applied(text: str, pieces: list[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(pieces, key=lambda piece: piece[:2], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _compose(text: str) -> yaml.MappingNode | None:
    """The root; None for an empty document. The text has been read before, so its depth is bounded."""
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError) as fault:
        raise CannotKeep("The front matter cannot be read") from fault
    if root is None:
        return None
    if not isinstance(root, yaml.MappingNode) or len({id(key) for key, _ in root.value}) != len(root.value):
        raise CannotKeep("The front matter is no plain mapping")
    return root


def _entries(text: str, root: yaml.MappingNode) -> Iterator[_Entry]:
    starts = [key.start_mark.index for key, _ in root.value] + [len(text)]
    names = set()
    for number, (key, value) in enumerate(root.value):
        name = _name(text[key.start_mark.index : key.end_mark.index])
        if name in names:
            raise CannotKeep(f"“{name}” stands twice in the front matter")
        names.add(name)
        yield _entry(text, name, key, value, starts[number + 1])


def _name(written: str) -> str:
    try:
        [name] = read_yaml(f"{{? {written} : 0}}")
    except ValueError as fault:
        raise CannotKeep("A key of the front matter is written in a way that is not understood") from fault
    return str(name)


def _entry(text: str, name: str, key: yaml.Node, value: yaml.Node, following: int) -> _Entry:
    key_start, key_end = key.start_mark.index, key.end_mark.index
    line = text.rfind("\n", 0, key_start) + 1
    limit = text.rfind("\n", 0, following) + 1 if following < len(text) else following
    alias = _alias_span(text, key_end, value)
    start, stop = alias or (value.start_mark.index, value.end_mark.index)
    if not alias and not _is_inline(value):
        stop = _last_line_end(text, start, max(limit, start), _has_literal(value))
    end = text.find("\n", stop)
    column = len(text[line:key_start]) - len(text[line:key_start].lstrip(" "))
    return _Entry(name, line, key_end, start, stop, len(text) if end < 0 else end + 1, value, column)


def _alias_span(text: str, key_end: int, value: yaml.Node) -> tuple[int, int] | None:
    """Where `*name` stands when the value is one: its node then lies before the key."""
    if value.start_mark.index >= key_end:
        return None
    found = _ALIAS.search(text, key_end)
    if found is None:
        raise CannotKeep("A value of the front matter is written in a way that is not understood")
    return found.span()


def _is_inline(value: yaml.Node) -> bool:
    """Whether the parser's end mark is the true end: not so for blocks, which it ends at the next token."""
    if isinstance(value, yaml.ScalarNode):
        return value.style not in ("|", ">")
    return _is_flow(value)


def _is_flow(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _has_literal(node: yaml.Node) -> bool:
    if isinstance(node, yaml.ScalarNode):
        return node.style in ("|", ">")
    parts = node.value if isinstance(node, yaml.SequenceNode) else [part for pair in node.value for part in pair]
    return any(map(_has_literal, parts))


def _last_line_end(text: str, start: int, limit: int, has_literal: bool) -> int:
    """The end of the last line before `limit` that belongs to the value: no empty line, no comment of what follows."""
    end = limit
    while end > start:
        line_start = text.rfind("\n", 0, max(end - 1, 0)) + 1
        line = text[line_start:end]
        bare = line.strip()
        is_comment = bare.startswith("#") and not (has_literal and line[:1].isspace())
        if bare and not is_comment:
            return line_start + len(line.rstrip("\r\n"))
        if line_start <= start:
            break
        end = line_start
    return start


class _Writer:
    """Writes values in the style of the document around them."""

    def __init__(self, text: str, edit: Edit, root: yaml.MappingNode | None) -> None:
        self._text, self._newline = text, edit.newline
        self._in_flow = root is not None and bool(root.flow_style)
        values = [value for _, value in root.value] if root is not None else []
        lists = [value for value in values if isinstance(value, yaml.SequenceNode) and value.value]
        self._flow_lists = any(each.flow_style for each in lists)
        columns = {each.start_mark.column for each in lists if not each.flow_style}
        self._dash_indent = 0 if columns == {0} else 2

    def changed(self, entry: _Entry, value: Any) -> tuple[int, int, str]:
        """(start, end, new text) for a key that is there."""
        old = entry.node
        style = old.style if isinstance(old, yaml.ScalarNode) else None
        lines = None if self._in_flow else self._lines(value, entry.column, as_flow=_is_flow(old))
        colon = self._text.find(":", entry.key_end) + 1
        between = self._text[colon : entry.value_start]
        if lines is None and "\n" not in between:
            written = self._inline(value, style, dates_plain=entry.is_plain_date)
            return entry.value_start, entry.value_end, written if between else f" {written}"
        lines = lines or [self._inline(value, style, dates_plain=False)]
        rest = self._rest(entry)
        comment = rest if rest.lstrip().startswith("#") else between.partition("\n")[0].rstrip()
        end = entry.value_end + len(rest)
        head = f" {lines[0]}" if lines[0] else ""
        return colon, end, self._newline.join([head + comment, *lines[1:]])

    def added(self, key: str, value: Any, column: int) -> str:
        """The lines of a key that is not there yet."""
        lines = self._lines(value, column, as_flow=self._flow_lists)
        if lines is None:
            lines = [self._inline(value, None, dates_plain=bool(_DATE_KEYS.fullmatch(key)))]
        head = f"{' ' * column}{scalar(key)}:" + (f" {lines[0]}" if lines[0] else "")
        return self._newline.join([head, *lines[1:], ""])

    def _inline(self, value: Any, style: str | None, *, dates_plain: bool) -> str:
        if isinstance(value, list | Mapping):
            return flow(value)
        return scalar(value, style=style, flow=self._in_flow, dates_plain=dates_plain)

    def _lines(self, value: Any, column: int, *, as_flow: bool) -> list[str] | None:
        """What follows the colon, and further lines; None for what stands on the key's own line."""
        if isinstance(value, str) and "\n" in value:
            return literal(value, column + 2)
        if not isinstance(value, list | Mapping) or not value or as_flow:
            return None
        indent = self._dash_indent if isinstance(value, list) else 2
        return ["", *block(value, column + indent)]

    def _rest(self, entry: _Entry) -> str:
        """What stands behind a value on its last line: a comment, or white space."""
        if not _is_inline(entry.node):
            return ""
        end = self._text.find("\n", entry.value_end)
        rest = self._text[entry.value_end : end if end >= 0 else len(self._text)].rstrip("\r")
        return rest if not rest.strip() or rest.lstrip().startswith("#") else ""
