"""Values of JSON's types as YAML text, written the way people write front matter; knows no documents."""

import json
import re
from collections.abc import Mapping
from typing import Any

from app.core.content.yaml_values import resolve

_WORDS_OF_OLD = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"])
"""YAML 1.1 reads these as something else than text, and some generators read YAML 1.1."""

_LIKE_NUMBER = re.compile(
    r"[-+.]?[0-9][0-9_,.:]*([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|[-+]?\.(inf|nan)", re.IGNORECASE
)
LIKE_DATE = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|z|[-+]\d\d(:?\d\d)?)?)?")
_FIRST = re.compile(r"[\w/(]")


def scalar(value: Any, *, style: str | None = None, flow: bool = False, dates_plain: bool = False) -> str:
    """One value on one line; `style` is the quote that is wanted for text, where it can be kept."""
    if not isinstance(value, str):
        return json.dumps(value)
    if LIKE_DATE.fullmatch(value) and dates_plain:
        return value
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return value if style != '"' and is_plain(value, flow=flow) else quoted(value)


def quoted(text: str) -> str:
    """Text in double quotes, with every character escaped that YAML would not take as it is."""
    told = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in told)


def is_plain(text: str, *, flow: bool) -> bool:
    """Whether text means itself without quotes, to readers of YAML 1.1 and 1.2."""
    if not text.isprintable() or text != text.strip() or not _FIRST.match(text):
        return False
    if ": " in text or " #" in text or text.endswith(":") or (flow and any(c in ",[]{}" for c in text)):
        return False
    if text.lower() in _WORDS_OF_OLD or _LIKE_NUMBER.fullmatch(text) or LIKE_DATE.match(text):
        return False
    return resolve(text) == text


def flow(value: Any) -> str:
    """A value on one line, lists and mappings in brackets."""
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key, flow=True)}: {flow(inner)}" for key, inner in value.items()) + "}"
    return scalar(value, flow=True)


def block(value: Any, indent: int) -> list[str]:
    """A list or mapping that is not empty as lines, each indented by that much."""
    pairs = [("-", each) for each in value] if isinstance(value, list) else _keyed(value)
    return [line for lead, inner in pairs for line in _entry(lead, inner, indent)]


def _keyed(value: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(f"{scalar(key)}:", inner) for key, inner in value.items()]


def _entry(lead: str, value: Any, indent: int) -> list[str]:
    margin = " " * indent
    if not isinstance(value, list | Mapping) or not value:
        return [f"{margin}{lead} {flow(value) if isinstance(value, list | Mapping) else scalar(value)}"]
    inner = block(value, indent + 2)
    if lead == "-":
        return [f"{margin}- {inner[0].lstrip()}", *inner[1:]]
    return [margin + lead, *inner]


def literal(text: str, indent: int) -> list[str] | None:
    """Text of several lines as `|` and its lines; None where it cannot be written so."""
    lines, rest = text.removesuffix("\n").split("\n"), text.endswith("\n")
    fits = all((line.isprintable() or not line) for line in lines) and lines[0][:1] not in ("", " ") and lines[-1]
    if len(lines) < 2 or not fits:
        return None
    return ["|" if rest else "|-", *(" " * indent + line if line else "" for line in lines)]
