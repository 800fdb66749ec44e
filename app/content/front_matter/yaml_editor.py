"""Edits of a YAML mapping in its text. Keys and items that do not change keep their bytes.

The caller reads the result again and compares it, because YAML has more notations than this module knows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.content.front_matter.edits import (
    Changed,
    KeyEdit,
    Piece,
    SeparatedItems,
    Span,
    UnsupportedEdit,
    apply_pieces,
    edited_part,
    positions_of,
    values_equal,
)
from app.content.front_matter.item_diff import (
    Insertion,
    ItemChange,
    Removal,
    Step,
    diff_items,
    find_moves,
    old_positions,
    separate_moves,
)
from app.content.front_matter.yaml_notation import (
    block,
    inline_pair,
    inline_text,
    literal,
    rewritten_block_scalar,
    scalar,
    single_line,
)
from app.content.front_matter.yaml_tree import Entry, Item, Kind, Node, compose, entries_of, items_of, key_name

_DATE_KEYS = re.compile(
    r"date|lastmod|updated|modified|created|published|(publish|expiry|pub|updated|created).?(date|at|on)", re.IGNORECASE
)
_BLANK = re.compile(r"\s*")
_COLON = re.compile(r"\s*+:[ \t]*+")


class YamlStyle:
    """Writer of keys, values and items in the style of a document."""

    def __init__(self, text: str, newline: str, root: Node | None) -> None:
        self._text, self.newline = text, newline
        values = [value for _, value in root.pairs] if root is not None else []
        lists = [value for value in values if value.kind is Kind.SEQUENCE and value.children]
        self._uses_inline_lists = any(sequence.is_inline for sequence in lists)
        columns = {
            sequence.start - (text.rfind("\n", 0, sequence.start) + 1) for sequence in lists if not sequence.is_inline
        }
        self._dash_indent = 0 if columns == {0} else 2

    def replace_value(self, entry: Entry, value: object) -> tuple[int, int, str]:
        """Return the start, the end and the text that replace the complete value of a key."""
        old = entry.node
        if (written := self.block_scalar(old, entry.value_end, value)) is not None:
            return old.start, entry.value_end, written
        lines = self._lines(value, entry.column, is_inline=old.is_inline)
        colon = self._text.find(":", entry.key_end) + 1
        between = self._text[colon : old.start]
        if lines is None and "\n" not in between:
            written = single_line(value, style=old.style, like=old.plain_text)
            return old.start, entry.value_end, written if between else f" {written}"
        if lines is None and "#" in between.partition("\n")[2]:
            # The comments above the value stay. A value in brackets must have a larger indentation than the key.
            column = old.start - self._text.rfind("\n", 0, old.start) - 1
            return old.start, entry.value_end, " " * (entry.column + 2 - column) + single_line(value, style=old.style)
        lines = lines or [single_line(value, style=old.style)]
        tail = self._tail(entry)
        comment = tail if tail.lstrip().startswith("#") else between.partition("\n")[0].rstrip()
        head = f" {lines[0]}" if lines[0] else ""
        return colon, entry.value_end + len(tail), self.newline.join([head + comment, *lines[1:]])

    def block_scalar(self, old: Node, end: int, value: object) -> str | None:
        """Return a text in the style of the block scalar that it replaces, or None."""
        if not isinstance(value, str) or old.style not in ("|", ">"):
            return None
        written = rewritten_block_scalar(self._text[old.start : end], old.text, value, self.newline)
        return written and written + self.newline * self._text[:end].endswith("\n")

    def new_key(self, key: str, value: object, column: int) -> str:
        """Return the lines of a new key."""
        lines = self._lines(value, column, is_inline=self._uses_inline_lists)
        if lines is None:
            lines = [single_line(value, dates_plain=bool(_DATE_KEYS.fullmatch(key)))]
        head = f"{' ' * column}{scalar(key)}:" + (f" {lines[0]}" if lines[0] else "")
        return self.newline.join([head, *lines[1:], ""])

    def item_lines(self, value: object, neighbour: Item) -> list[str]:
        """Return the lines of a new item with the indentation and the quotes of a neighbour."""
        if isinstance(value, list | Mapping) and value:
            return block([value], neighbour.column)
        written = single_line(value, style=neighbour.node.style, like=neighbour.node.plain_text)
        return [f"{' ' * neighbour.column}- {written}"]

    def _lines(self, value: object, column: int, *, is_inline: bool) -> list[str] | None:
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


def edit_yaml(text: str, edit: KeyEdit) -> str:
    """Return the text with the edit.

    Raises:
        UnsupportedEdit: a change cannot be made without other changes.
    """
    root = compose(text)
    style = YamlStyle(text, edit.newline, root)
    new = {key: value for key, value in edit.old.items() if key not in edit.unset} | dict(edit.values)
    if root is None:
        return text + "".join(style.new_key(key, value, 0) for key, value in new.items())
    return apply_pieces(text, _Editor(text, style).mapping(root, edit.old, new, len(text), is_root=True))


def yaml_remainder(text: str, changed: Changed) -> object:
    """Return the text without the lines of the changed keys, or the pairs of a mapping in braces without them."""
    root = compose(text)
    if root is None:
        return text
    if root.is_inline:
        pairs = [(key_name(text[key.start : key.end]), text[key.start : value.end]) for key, value in root.pairs]
        return [written for name, written in pairs if name not in changed]
    return apply_pieces(text, list(_changed_lines(text, root, changed, len(text))))


def _changed_lines(text: str, node: Node, changed: Changed, limit: int) -> Iterator[Piece]:
    for key, entry in entries_of(text, node, limit).items():
        inner = changed.within(key)
        if key not in changed:
            continue
        if inner is not None and entry.node.kind is Kind.MAPPING and not entry.node.is_inline and entry.node.children:
            yield from _changed_lines(text, entry.node, inner, entry.limit)
        else:
            yield Piece(entry.start, entry.end, "")


class _Editor:
    """Replacements for changed values. `limit` is the end of the lines that may belong to a value."""

    def __init__(self, text: str, style: YamlStyle) -> None:
        self._text, self._style = text, style

    def mapping(
        self, node: Node, old: Mapping[str, object], new: Mapping[str, object], limit: int, *, is_root: bool = False
    ) -> list[Piece]:
        """ItemChange the keys of a mapping that differ."""
        if node.is_inline:
            return self._inline_mapping(node, old, new)
        entries = entries_of(self._text, node, limit)
        removed = _removed_keys(entries.keys(), old, new)
        if len(removed) == len(entries) and not is_root:
            raise UnsupportedEdit("A nested mapping of the front matter would become empty")
        positions = positions_of(entries)
        pieces = self._remove_blocks(list(entries.values()), {positions[key] for key in removed})
        for key, entry in entries.items():
            if key in new and key in old and not values_equal(old[key], new[key]):
                pieces += self._entry(entry, old[key], new[key])
        added = [key for key in new if key not in entries and not (key in old and values_equal(old[key], new[key]))]
        last, column = list(entries.values())[-1], min(entry.column for entry in entries.values())
        lines = "".join(self._style.new_key(key, new[key], column) for key in added)
        return [*pieces, Piece(last.end, last.end, lines)] if lines else pieces

    def _entry(self, entry: Entry, old: object, new: object) -> list[Piece]:
        if _can_descend(entry.node, old, new):
            return self._collection(entry.node, old, new, entry.limit)
        return [Piece(*self._style.replace_value(entry, new))]

    def _collection(self, node: Node, old: Any, new: Any, limit: int) -> list[Piece]:
        if isinstance(new, Mapping):
            return self.mapping(node, old, new, limit)
        if node.is_inline:
            return self._inline_sequence(node, old, new)
        return self._block_sequence(node, old, new, limit)

    def _block_sequence(self, node: Node, old: Sequence[object], new: Sequence[object], limit: int) -> list[Piece]:
        items = items_of(self._text, node, limit)
        _require_length(items, old)
        steps = diff_items(old, new)
        moves = find_moves(old, new, steps)
        if moves and not items[0].follows_dash:
            return [self._rewritten(items, old, new, moves, steps)]
        leads = [replace(item, start=start) for item, start in zip(items, self._leads(items), strict=True)]
        removed = {step.index for step in steps if isinstance(step, Removal)}
        for at in range(len(items) - 1, 0, -1):
            if at not in removed or self._text[items[at - 1].end : leads[at].start].strip():
                break
            # Empty lines before the last items would be left outside of the list.
            leads[at] = replace(leads[at], start=items[at - 1].end)
        pieces = self._remove_blocks(leads, removed)
        for step in steps:
            if isinstance(step, ItemChange):
                pieces += self._item(items[step.index], old[step.index], new[step.new])
        for index in sorted({step.index for step in steps if isinstance(step, Insertion)}):
            values = [new[step.new] for step in steps if isinstance(step, Insertion) and step.index == index]
            pieces.append(self._insert_items(items, index, values))
        return pieces

    def _rewritten(
        self,
        items: Sequence[Item],
        old: Sequence[object],
        new: Sequence[object],
        moves: Mapping[int, int],
        steps: Sequence[Step],
    ) -> Piece:
        """Return the items in their new order, each with the comments above it. Empty lines between items stay."""
        text, newline = self._text, self._style.newline
        leads = self._leads(items)
        gaps = [text[item.end : start] for item, start in zip(items, leads[1:], strict=False)]
        steps = separate_moves(steps, moves)
        changes = {step.new: step.index for step in steps if isinstance(step, ItemChange)}
        sources = old_positions(len(old), len(new), steps) | changes | dict(moves)
        written = ""
        for index, value in enumerate(new):
            if index:
                written += gaps[min(index, len(gaps)) - 1] if gaps else ""
            if index in sources:
                at = sources[index]
                item, start = items[at], leads[at]
                pieces = [] if values_equal(old[at], value) else self._item(item, old[at], value)
                lines = edited_part(text, start, item.end, pieces)
            else:
                lines = newline.join([*self._style.item_lines(value, items[0]), ""])
            written += lines if lines.endswith("\n") else lines + newline
        last = items[-1]
        has_end = text[: last.end].endswith("\n")
        return Piece(leads[0], last.end, written if has_end else written.removesuffix(newline))

    def _leads(self, items: Sequence[Item]) -> list[int]:
        """Return the start of each item with the comments above it."""
        leads = [_comments_above(self._text, item) for item in items]
        if not any(start < item.start for start, item in zip(leads[1:], items[1:], strict=True)):
            leads[0] = items[0].start  # The comment describes the list.
        return leads

    def _insert_items(self, items: Sequence[Item], index: int, values: Sequence[object]) -> Piece:
        neighbour = items[max(index - 1, 0)]
        lines = [line for value in values for line in self._style.item_lines(value, neighbour)]
        newline = self._style.newline
        if index and not self._text[: neighbour.end].endswith("\n"):
            return Piece(neighbour.end, neighbour.end, newline.join(["", *lines]))
        if index:
            return Piece(neighbour.end, neighbour.end, newline.join([*lines, ""]))
        indented = newline.join([*lines, " " * neighbour.column])
        return Piece(neighbour.first, neighbour.first, indented[neighbour.column :])

    def _item(self, item: Item, old: object, new: object) -> list[Piece]:
        if _can_descend(item.node, old, new):
            return self._collection(item.node, old, new, item.limit)
        block_text = self._style.block_scalar(item.node, item.value_end, new)
        written = (
            single_line(new, style=item.node.style, like=item.node.plain_text) if block_text is None else block_text
        )
        return [Piece(item.node.start, item.value_end, written if item.has_gap else f" {written}")]

    def _remove_blocks(self, blocks: Sequence[Entry] | Sequence[Item], removed: set[int]) -> list[Piece]:
        """Remove entries or items with their lines. The first ones may follow the dash of an outer list."""
        pieces: list[Piece] = []
        if 0 in removed and blocks[0].follows_dash:
            remaining = next((index for index in range(len(blocks)) if index not in removed), None)
            if remaining is None:
                raise UnsupportedEdit("A nested value of the front matter would become empty")
            for index in range(remaining):
                if not _BLANK.fullmatch(self._text, blocks[index].value_end, blocks[index + 1].first):
                    raise UnsupportedEdit("A comment in the front matter prevents the removal of an item")
            pieces.append(Piece(blocks[0].first, blocks[remaining].first, ""))
            removed = {index for index in removed if index > remaining}
        return pieces + [Piece(blocks[index].start, blocks[index].end, "") for index in removed]

    def _inline_sequence(self, node: Node, old: Sequence[object], new: Sequence[object]) -> list[Piece]:
        _require_length(node.children, old)

        def change(index: int, before: Any, value: Any) -> list[Piece]:
            return self._inline_value(node.children[index], before, value)

        def write(value: Any) -> str:
            styles = {child.style for child in node.children if child.kind is Kind.SCALAR}
            return inline_text(value, style=styles.pop() if len(styles) == 1 else node.children[-1].style)

        items = self._separated([Span(child.start, child.end) for child in node.children])
        return list(items.list_pieces(old, new, change, write))

    def _inline_mapping(self, node: Node, old: Mapping[str, object], new: Mapping[str, object]) -> list[Piece]:
        pairs = {key_name(self._text[key.start : key.end]): (key, value) for key, value in node.pairs}
        if len(pairs) != len(node.pairs):
            raise UnsupportedEdit("A key occurs twice in the front matter")
        removed = _removed_keys(pairs.keys(), old, new)
        names, keys = list(pairs), list(new)
        old_positions, new_positions = positions_of(names), positions_of(keys)
        added = [key for key in new if key not in pairs and not (key in old and values_equal(old[key], new[key]))]
        if not pairs or ((added or removed) and (self._text[node.end - 1] != "}" or len(removed) == len(pairs))):
            raise UnsupportedEdit("A mapping of the front matter is written so that its keys cannot change")
        changed = [key for key in names if key in new and not values_equal(old.get(key), new[key])]
        steps: list[Step] = [ItemChange(old_positions[key], new_positions[key]) for key in changed]
        steps += [Removal(old_positions[key]) for key in removed]
        steps += [Insertion(len(names), new_positions[key]) for key in added]

        def change(step: ItemChange) -> list[Piece]:
            name = names[step.index]
            return self._inline_pair(*pairs[name], old[name], new[name])

        def write(index: int) -> str:
            return inline_pair(keys[index], new[keys[index]])

        spans = [Span(key.start, max(key.end, value.end)) for key, value in pairs.values()]
        return list(self._separated(spans).pieces(steps, change, write))

    def _inline_pair(self, key: Node, value: Node, old: object, new: object) -> list[Piece]:
        if value.start < value.end:
            return self._inline_value(value, old, new)
        colon = _COLON.match(self._text, key.end)
        start, mark = (colon.end(), "") if colon else (key.end, ":")
        written = inline_text(new)
        return [Piece(start, start, f"{mark} {written}" if self._text[start - 1] != " " else written)]

    def _inline_value(self, node: Node, old: object, new: object) -> list[Piece]:
        if _can_descend(node, old, new):
            return self._collection(node, old, new, node.end)
        return [Piece(node.start, node.end, single_line(new, style=node.style, inline=True, like=node.plain_text))]

    def _separated(self, spans: Sequence[Span]) -> SeparatedItems:
        return SeparatedItems(self._text, spans, self._style.newline, may_end_with_comma=True)


def _comments_above(text: str, item: Item) -> int:
    """Return the start of the comments in the lines directly above an item, else of its line."""
    start = item.start
    while start:
        line = text.rfind("\n", 0, start - 1) + 1
        content = text[line:start].lstrip(" ")
        if not content.startswith("#") or start - line - len(content) > item.column:
            break
        start = line
    return start


def _can_descend(node: Node, old: object, new: object) -> bool:
    """Return whether both values are lists or both are mappings, and neither they nor the written value are empty."""
    if not (old and new and node.children):
        return False
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = {key for key in old if key in new}
        return node.kind is Kind.MAPPING and bool(keys)
    return node.kind is Kind.SEQUENCE and isinstance(old, list) and isinstance(new, list)


def _removed_keys(present: Any, old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    removed = [key for key in old if key not in new]
    for key in removed:
        if key not in present:
            raise UnsupportedEdit(f"“{key}” is defined elsewhere in the front matter and cannot be removed")
    return removed


def _require_length(items: Sequence[object], values: Sequence[object]) -> None:
    if len(items) != len(values):
        raise UnsupportedEdit("A list of the front matter uses a notation that is not supported")
