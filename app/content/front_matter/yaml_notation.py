"""Notations of values in YAML: plain and quoted scalars, literal and folded blocks, and text on one line."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from app.content.front_matter.edits import (
    UnsupportedEdit,
)
from app.content.front_matter.values import WrittenDate, WrittenFloat
from app.content.front_matter.yaml_reader import resolve
from app.content.front_matter.yaml_tree import compose
from app.content.sequence_diff import common_ends, equal_parts, find_changes

_YAML_1_1_CONSTANTS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"])
"""YAML 1.1 does not read these as text, and some generators use YAML 1.1."""

_SWITCHES = frozenset(["y", "n", "yes", "no", "on", "off"])

_LIKE_NUMBER = re.compile(
    r"[-+.]?[0-9][0-9_,.:]*([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|[-+]?\.(inf|nan)", re.IGNORECASE
)
_LIKE_DATE = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|z|[-+]\d\d(:?\d\d)?)?)?")
_FIRST = re.compile(r"[\w/(]")


def scalar(
    value: object, *, style: str | None = None, inline: bool = False, dates_plain: bool = False, like: str | None = None
) -> str:
    """Return a value on one line.

    `style` is the preferred quote of a text. `like` is the plain scalar that the value replaces: a date, a number or a
    switch of YAML 1.1 remains plain if the new value has the same form.
    """
    if isinstance(value, WrittenFloat):
        return value.text
    if not isinstance(value, str):
        # YAML 1.1 reads numbers with an exponent only with a point.
        return re.sub(r"^(-?\d+)e", r"\1.0e", json.dumps(value))
    is_plain_date = dates_plain or isinstance(value, WrittenDate) or (like is not None and is_date(like))
    if is_plain_date and _LIKE_DATE.fullmatch(value):
        return value
    if like is not None and resolve(like) == like and resolve(value) == value and _have_same_form(like, value):
        return value
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return value if style != '"' and is_plain(value, inline=inline) else quoted(value)


def _have_same_form(text: str, other: str) -> bool:
    """Return whether two plain scalars are both switches, both like numbers, or both like versions (`1.2.3`)."""
    are_switches = {text.lower(), other.lower()} <= _SWITCHES
    are_versions = {text.count(".") > 1, other.count(".") > 1}
    are_numbers = _LIKE_NUMBER.fullmatch(text) and _LIKE_NUMBER.fullmatch(other) and len(are_versions) == 1
    return are_switches or bool(are_numbers)


def is_date(text: str) -> bool:
    """Return whether a plain scalar starts like a date."""
    return bool(_LIKE_DATE.match(text))


def quoted(text: str) -> str:
    """Return text in double quotes and escape the characters that YAML does not permit."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in written)


def is_plain(text: str, *, inline: bool) -> bool:
    """Return whether readers of YAML 1.1 and 1.2 read the unquoted text as this text."""
    if not text.isprintable() or text != text.strip() or not _FIRST.match(text):
        return False
    if ": " in text or " #" in text or text.endswith(":") or (inline and any(c in ",[]{}" for c in text)):
        return False
    if text.lower() in _YAML_1_1_CONSTANTS or _LIKE_NUMBER.fullmatch(text) or _LIKE_DATE.match(text):
        return False
    return resolve(text) == text


def inline_text(value: object, *, style: str | None = None) -> str:
    """Return a value on one line, with lists and mappings in brackets. `style` is the preferred quote of a text."""
    if isinstance(value, list):
        return f"[{', '.join(map(inline_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(inline_pair(key, inner) for key, inner in value.items())}}}"
    return scalar(value, style=style, inline=True)


def inline_pair(key: object, value: object) -> str:
    """Return a pair of an inline mapping."""
    return f"{scalar(key, inline=True)}: {inline_text(value)}"


def single_line(value: object, **options: Any) -> str:
    """Return a value on one line. `options` are those of `scalar`."""
    return inline_text(value) if isinstance(value, list | Mapping) else scalar(value, **options)


def block(value: Any, indent: int) -> list[str]:
    """Return the lines of a list or mapping that is not empty, with the given indentation."""
    is_list = isinstance(value, list)
    pairs = [("-", item) for item in value] if is_list else [(f"{scalar(key)}:", value[key]) for key in value]
    return [line for lead, inner in pairs for line in _entry(lead, inner, indent)]


def _entry(lead: str, value: object, indent: int) -> list[str]:
    margin = " " * indent
    if not isinstance(value, list | Mapping) or not value:
        return [f"{margin}{lead} {single_line(value)}"]
    inner = block(value, indent + 2)
    if lead == "-":
        return [f"{margin}- {inner[0].lstrip()}", *inner[1:]]
    return [margin + lead, *inner]


def literal(text: str, indent: int) -> list[str] | None:
    """Return the header and the lines of a block scalar, or None if the text cannot be written as one."""
    lines, ends_with_newline = text.removesuffix("\n").split("\n"), text.endswith("\n")
    fits = all((line.isprintable() or not line) for line in lines) and lines[0][:1] not in ("", " ") and lines[-1]
    if len(lines) < 2 or not fits:
        return None
    return ["|" if ends_with_newline else "|-", *(" " * indent + line if line else "" for line in lines)]


def rewritten_block_scalar(source: str, old: str, value: str, newline: str) -> str | None:
    """Return a block scalar with another value in its style, or None if it cannot have the value.

    The chomping changes only if the value needs it. The line breaks of a folded text stay where the text is the same.
    """
    header, *lines = re.split(r"\r?\n", source.rstrip())
    margin = re.match(r"[ \t]*", next(filter(None, lines), ""))
    if not margin or not margin[0] or not value.strip():
        return None
    raw = "\n".join(line.removeprefix(margin[0]) for line in lines)
    content = _folded(raw, old.rstrip("\n"), value.rstrip("\n")) if header[0] == ">" else value.rstrip("\n")
    body = newline.join(_with_margin(content.split("\n"), lines, margin[0]))
    # The empty lines at the end are no part of `source`.
    ending = old[len(old.rstrip("\n")) :] if "+" in header else "\n"
    for form in (header, header[0] + "-", header[0]):
        with suppress(UnsupportedEdit):
            root = compose(f"key: {form}\n{body}{ending}")
            if root is not None and root.pairs[0][1].text == value:
                return f"{form}{newline}{body}"
    return None


def _with_margin(content: Sequence[str], written: Sequence[str], margin: str) -> list[str]:
    """Return the lines of a block scalar. Written lines that are equal stay, also the white space of empty ones."""
    result = [margin + line if line else "" for line in content]
    old = ["" if margin.startswith(line) else line.removeprefix(margin) for line in written]
    for positions, new_at in equal_parts(find_changes(old, content), len(old)):
        result[new_at : new_at + len(positions)] = written[positions.start : positions.stop]
    return result


def _folded(raw: str, old: str, value: str) -> str:
    """Return a text as the lines of a folded scalar. Only its changed paragraphs have other lines than `raw`."""
    blocks, (before, after) = re.split(r"\n(\n+)", raw), (re.split(r"(\n+)", text) for text in (old, value))
    if len(blocks) != len(before):
        blocks, before = [], []
    head, tail = common_ends(before, after)
    changed = after[head : len(after) - tail]
    if len(changed) == 1 and len(before) == len(after) and len(blocks[head]) == len(before[head]):
        # Each line break of the source is a space of the value.
        old, new = before[head], changed[0]
        start, end = common_ends(old, new)
        changed = [blocks[head][:start] + new[start : len(new) - end] + blocks[head][len(old) - end :]]
    parts = [*blocks[:head], *changed, *blocks[len(blocks) - tail :]]
    return "".join(f"\n{part}" if part.startswith("\n") else part for part in parts)
