"""Notation of new values in a YAML document, after the values that it contains."""

import re
from collections.abc import Mapping
from typing import Any

from app.content.front_matter.yaml_blocks import Entry, Item
from app.content.front_matter.yaml_tree import Kind, Node
from app.content.front_matter.yaml_writer import block, inline_text, literal, scalar

_DATE_KEYS = re.compile(
    r"date|lastmod|updated|modified|created|published|(publish|expiry|pub|updated|created).?(date|at|on)", re.IGNORECASE
)


class YamlStyle:
    """Writer of keys, values and items in the style of a document."""

    def __init__(self, text: str, newline: str, root: Node | None) -> None:
        self._text, self.newline = text, newline
        values = [value for _, value in root.pairs] if root is not None else []
        lists = [value for value in values if value.kind is Kind.SEQUENCE and value.children]
        self._uses_inline_lists = any(each.is_inline for each in lists)
        columns = {each.start - (text.rfind("\n", 0, each.start) + 1) for each in lists if not each.is_inline}
        self._dash_indent = 0 if columns == {0} else 2

    def replace_value(self, entry: Entry, value: Any) -> tuple[int, int, str]:
        """Return the start, the end and the text that replace the complete value of a key."""
        old = entry.node
        lines = self._lines(value, entry.column, is_inline=old.is_inline)
        colon = self._text.find(":", entry.key_end) + 1
        between = self._text[colon : old.start]
        if lines is None and "\n" not in between:
            written = self._inline(value, old.style, like=old.plain_text)
            return old.start, entry.value_end, written if between else f" {written}"
        lines = lines or [self._inline(value, old.style)]
        tail = self._tail(entry)
        comment = tail if tail.lstrip().startswith("#") else between.partition("\n")[0].rstrip()
        head = f" {lines[0]}" if lines[0] else ""
        return colon, entry.value_end + len(tail), self.newline.join([head + comment, *lines[1:]])

    def new_key(self, key: str, value: Any, column: int) -> str:
        """Return the lines of a new key."""
        lines = self._lines(value, column, is_inline=self._uses_inline_lists)
        if lines is None:
            lines = [self._inline(value, None, dates_plain=bool(_DATE_KEYS.fullmatch(key)))]
        head = f"{' ' * column}{scalar(key)}:" + (f" {lines[0]}" if lines[0] else "")
        return self.newline.join([head, *lines[1:], ""])

    def item_lines(self, value: Any, neighbour: Item) -> list[str]:
        """Return the lines of a new item with the indentation and the quotes of a neighbour."""
        if isinstance(value, list | Mapping) and value:
            return block([value], neighbour.column)
        style = neighbour.node.style if neighbour.node.kind is Kind.SCALAR else None
        written = self._inline(value, style, like=neighbour.node.plain_text)
        return [f"{' ' * neighbour.column}- {written}"]

    def _inline(self, value: Any, style: str | None, *, dates_plain: bool = False, like: str | None = None) -> str:
        if isinstance(value, list | Mapping):
            return inline_text(value)
        return scalar(value, style=style, dates_plain=dates_plain, like=like)

    def _lines(self, value: Any, column: int, *, is_inline: bool) -> list[str] | None:
        """Return the text after the colon and the following lines, or None for a value on the line of its key."""
        if isinstance(value, str) and "\n" in value:
            return literal(value, column + 2)
        if not isinstance(value, list | Mapping) or not value or is_inline:
            return None
        indent = self._dash_indent if isinstance(value, list) else 2
        return ["", *block(value, column + indent)]

    def _tail(self, entry: Entry) -> str:
        """Return the comment or the white space after a value on its last line."""
        if not entry.node.has_exact_end:
            return ""
        end = self._text.find("\n", entry.value_end)
        tail = self._text[entry.value_end : end if end >= 0 else len(self._text)].rstrip("\r")
        return tail if not tail.strip() or tail.lstrip().startswith("#") else ""
