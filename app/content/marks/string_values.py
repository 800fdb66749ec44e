"""The texts of YAML, JSON and TOML documents with their positions."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from app.content.front_matter.edits import UnsupportedEdit
from app.content.front_matter.yaml_reader import resolve
from app.content.front_matter.yaml_tree import Kind, Node, compose

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
# Strings without an end match to the end of the line or text, so that a text is read only once.
_TOML_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?|' + r"'''(?:[^']|'(?!''))*+(?:'{3,5})?|"
    r'"(?:[^"\\\n]|\\.)*+"?|' + r"'[^'\n]*+'?|#[^\n]*+|\n|[\[\]{},=.]|[^\s\[\]{},=.#\"']++",
    re.DOTALL,
)

Path = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


class StringValue(NamedTuple):
    """A string of a document. Its content ends at `end`, before the closing quote."""

    path: Path
    value: str
    start: int
    end: int


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


def json_strings(text: str) -> Iterator[StringValue]:
    """Yield the strings of a document that the caller has read. The braces around its members are optional."""
    stack: list[list[str | int]] = []
    if not text.lstrip().startswith(("{", "[")):
        stack.append([""])
    is_key = bool(stack)
    for token in _JSON_TOKEN.finditer(text):
        written = token[0]
        if written in "{[":
            stack.append([""] if written == "{" else [0])
            is_key = written == "{"
        elif written in "}]":
            del stack[-1:]
            is_key = False
        elif written == "," and stack:
            [step] = stack[-1]
            is_key = isinstance(step, str)
            stack[-1][0] = step + 1 if isinstance(step, int) else step
        elif is_key and stack:
            stack[-1][0], is_key = json.loads(written), False
        elif written[0] == '"':
            path: Path = tuple(step for [step] in stack)
            yield StringValue(path, json.loads(written), token.start(), token.end() - 1)


class _Token(NamedTuple):
    """A token and its position."""

    text: str
    start: int
    end: int


def toml_strings(text: str) -> Iterator[StringValue]:
    """Yield the strings of a document that the caller has read."""
    yield from _Scanner(text).strings()


class _Scanner:
    """A reader of a valid document. `counts` contains the index of the last table of each array of tables."""

    def __init__(self, text: str) -> None:
        matches = _TOML_TOKEN.finditer(text)
        self._tokens = [_Token(match[0], *match.span()) for match in matches if not match[0].startswith("#")]
        self._at = 0
        self._counts: dict[Path, int] = {}

    def strings(self) -> Iterator[StringValue]:
        """Yield the strings of all tables."""
        table: Path = ()
        while self._skip_lines():
            if self._tokens[self._at].text == "[":
                table = self._header()
            else:
                path = self._with_indexes(table, self._key("="))
                yield from self._value(path)

    def _skip_lines(self) -> bool:
        while self._at < len(self._tokens) and self._tokens[self._at].text == "\n":
            self._at += 1
        return self._at < len(self._tokens)

    def _header(self) -> Path:
        self._at += 1
        is_array = self._tokens[self._at].text == "["
        self._at += is_array
        path = self._with_indexes((), self._key("]"))
        self._at += is_array
        if is_array:
            # The index of the table before it is a part of the path.
            base = path[:-1] if path and isinstance(path[-1], int) else path
            self._counts[base] = self._counts.get(base, -1) + 1
            path = (*base, self._counts[base])
        return path

    def _key(self, end: str) -> list[str]:
        """Return the parts of a key, and move after the token that ends it."""
        parts = []
        while (text := self._tokens[self._at].text) != end:
            if text != ".":
                parts.append(_string_of(text) if text[0] in "\"'" else text)
            self._at += 1
        self._at += 1
        return parts

    def _with_indexes(self, table: Path, parts: list[str]) -> Path:
        path = table
        for part in parts:
            path = (*path, part)
            if path in self._counts:
                path = (*path, self._counts[path])
        return path

    def _value(self, path: Path) -> Iterator[StringValue]:
        token = self._tokens[self._at]
        self._at += 1
        if token.text == "[":
            yield from self._array(path)
        elif token.text == "{":
            yield from self._inline_table(path)
        elif token.text[0] in "\"'":
            quote = 3 if token.text[:3] in ('"""', "'''") else 1
            yield StringValue(path, _string_of(token.text), token.start, token.end - quote)
        else:
            self._skip_bare()

    def _skip_bare(self) -> None:
        """Skip the other parts of a number, a date or a time."""
        while self._at < len(self._tokens) and self._tokens[self._at].text not in ("\n", ",", "]", "}"):
            self._at += 1

    def _array(self, path: Path) -> Iterator[StringValue]:
        index = 0
        while self._skip_lines() and self._tokens[self._at].text != "]":
            if self._tokens[self._at].text == ",":
                self._at += 1
                index += 1
            else:
                yield from self._value((*path, index))
        self._at += 1

    def _inline_table(self, path: Path) -> Iterator[StringValue]:
        while self._skip_lines() and self._tokens[self._at].text != "}":
            if self._tokens[self._at].text == ",":
                self._at += 1
            else:
                yield from self._value((*path, *self._key("=")))
        self._at += 1


def _string_of(written: str) -> str:
    return str(tomllib.loads(f"x = {written}")["x"])
