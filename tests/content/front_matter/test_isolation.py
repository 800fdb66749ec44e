"""Tests of edits of items and nested keys in YAML, TOML and JSON. All other lines and items keep their bytes."""

import copy
import itertools
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.content.front_matter.editor import UnsupportedEdit, edit_front_matter
from app.content.front_matter.edits import values_equal
from app.content.front_matter.reader import split_front_matter

pytestmark = pytest.mark.slow

TOKEN = re.compile(r"""["']?\bv\d+\b["']?|# c\d+""")
DOCUMENTS = 1_000 if os.environ.get("GALLEY_LONG") else 60
FENCES = {"yaml": "---", "toml": "+++", "json": ";;;"}

Path = tuple[str | int, ...]


@dataclass
class Renderer:
    """Writer of a value in one language. Each leaf is unique, and notation and comments are drawn."""

    draw: Any
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def comment(self) -> str:
        return f" # c{next(self.numbers)}" if self.draw(st.booleans()) else ""

    def comment_lines(self, margin: int) -> list[str]:
        return [f"{' ' * margin}# c{next(self.numbers)}"] if self.draw(st.integers(0, 4)) == 0 else []

    def leaf(self, value: str, quotes: str = "\"' ") -> str:
        quote = self.draw(st.sampled_from(quotes)).strip()
        return f"{quote}{value}{quote}"

    def inline(self, value: Any, key: str = ": ", quotes: str = "\"' ") -> str:
        if isinstance(value, dict):
            members = [f"{name}{key}{self.inline(inner, key, quotes)}" for name, inner in value.items()]
            return "{" + self.draw(st.sampled_from(["", " "])) + ", ".join(members) + "}"
        if isinstance(value, list):
            separator = self.draw(st.sampled_from([", ", ",", " , "]))
            return f"[{separator.join(self.inline(each, key, quotes) for each in value)}]"
        return self.leaf(value, quotes)

    def yaml(self, value: Any, margin: int) -> list[str]:
        """Return the lines of a value that follows a key or a dash. The first one continues its line."""
        if isinstance(value, str):
            return [f" {self.leaf(value)}{self.comment()}"]
        if self.draw(st.integers(0, 3)) == 0:
            return [f" {self.inline(value)}{self.comment()}"]
        return [self.comment(), *self.yaml_block(value, margin)]

    def yaml_block(self, value: Any, margin: int) -> list[str]:
        lines = []
        pairs = [(f"{key}:", each) for key, each in value.items()] if isinstance(value, dict) else None
        for lead, each in pairs or [("-", each) for each in value]:
            indent = self.draw(st.integers(1, 4))
            first, *others = self.yaml(each, margin + indent)
            lines += [*self.comment_lines(margin), f"{' ' * margin}{lead}{first}", *others]
        return lines

    def toml(self, value: dict[str, Any]) -> list[str]:
        lines = []
        for key, inner in value.items():
            if isinstance(inner, list) and self.draw(st.booleans()):
                lines += [f"{key} = [{self.comment()}"]
                for each in inner:
                    written = self.inline(each, " = ", "\"'")
                    lines += [*self.comment_lines(2), f"  {written},{self.comment()}"]
                lines += [f"]{self.comment()}"]
            else:
                lines += [*self.comment_lines(0), f"{key} = {self.inline(inner, ' = ', QUOTED)}{self.comment()}"]
        return lines


QUOTED = "\"'"


def values(numbers: Iterator[int]) -> st.SearchStrategy[Any]:
    leaf = st.builds(lambda: f"v{next(numbers)}")
    keys = st.sampled_from(["a", "b", "c", "d"])
    return st.recursive(
        leaf,
        lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(keys, inner, min_size=1, max_size=3),
        max_leaves=8,
    )


@st.composite
def documents(draw: Any, language: str) -> tuple[str, dict[str, Any]]:
    inner = draw(st.lists(values(itertools.count()), min_size=1, max_size=3))
    document = {f"key{index}": value for index, value in enumerate(inner)}
    renderer = Renderer(draw)
    if language == "json":
        text = json.dumps(document, indent=draw(st.sampled_from([None, 2, 4, "\t"])))
    elif language == "toml":
        text = "\n".join(renderer.toml(document))
    else:
        text = "\n".join(renderer.yaml_block(document, 0))
    fence = FENCES[language]
    return f"{fence}\n{text}\n{fence}\nBody\n", document


def containers(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, list | dict):
        yield path
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from containers(inner, (*path, key))


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def leaves(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    return set().union(*map(leaves, value.values() if isinstance(value, dict) else value))


@st.composite
def edits(draw: Any, language: str) -> tuple[str, dict[str, Any], set[str]]:
    """Return a document, the values after one change, and the leaves that the change replaces or removes."""
    text, document = draw(documents(language))
    after = copy.deepcopy(document)
    container = at(after, draw(st.sampled_from(list(containers(document)))))
    kind = draw(st.sampled_from(["add", "change", "remove"]))
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    key = draw(st.sampled_from(keys))
    if kind == "add" or (kind == "remove" and len(keys) == 1):
        if isinstance(container, dict):
            container["new"] = "added"
        else:
            container.insert(draw(st.integers(0, len(keys))), "added")
        return text, after, set()
    changed = leaves(container[key])
    if kind == "change":
        container[key] = "changed"
    else:
        del container[key]
    return text, after, changed


def is_subsequence(parts: list[str], whole: list[str]) -> bool:
    iterator = iter(whole)
    return all(part in iterator for part in parts)


def lines_without(text: str, changed: set[str]) -> list[str]:
    """Return the lines that contain leaves, but none of the changed ones."""
    lines = [(line, set(re.findall(r"v\d+", line))) for line in text.splitlines()]
    return [line.rstrip(" ,\t") for line, values in lines if values and not values & changed]


@pytest.mark.parametrize("language", FENCES)
def test_edit_keeps_every_unchanged_line_and_item_of_most_documents(language: str) -> None:
    outcomes: list[bool] = []

    @settings(max_examples=DOCUMENTS, database=None)
    @given(edits(language))
    def check(case: tuple[str, dict[str, Any], set[str]]) -> None:
        outcomes.append(_is_edited(language, *case))

    check()
    assert sum(outcomes) > 0.97 * len(outcomes)


def _is_edited(language: str, text: str, after: dict[str, Any], changed: set[str]) -> bool:
    """Check one edit. Return False if it is not supported."""
    before = split_front_matter(text).values
    assert before is not None
    removed = [key for key in before if key not in after]
    try:
        edited = edit_front_matter("a.md", text.encode(), after, removed).decode()
    except UnsupportedEdit:
        # A comment between the items of a list on one line cannot be assigned to one of them.
        assert language != "json"
        return False
    assert values_equal(split_front_matter(edited).values, after)
    remaining = [token for token in TOKEN.findall(text) if token[0] != "#" and token.strip("\"'") not in changed]
    assert is_subsequence(remaining, TOKEN.findall(edited)), (text, edited)
    untouched = [line for line in lines_without(text, changed) if "[" not in line and "{" not in line]
    if "- -" not in text:
        assert is_subsequence(untouched, [line.rstrip(" ,\t") for line in edited.splitlines()]), (text, edited)
    return True


ONE, TWO, NEXT = "# A\n[[l]]\na = 1\n# b = 2\n", "# B\n[[l]]\na = 2\n", "# N\n[n]\nk = 1\n"
TABLES = f"t = 1\n{ONE}\n{TWO}\n{NEXT}"
EXAMPLES = [
    ("---", "t:\n    - a\n    - b # keep\n", {"t": ["a", "b", "c"]}, "t:\n    - a\n    - b # keep\n    - c\n"),
    ("---", "t:\n    - a # x\n    - b # keep\n", {"t": ["b"]}, "t:\n    - b # keep\n"),
    ("---", "t: ['a', \"b\"]\n", {"t": ["a", "b", "c"]}, "t: ['a', \"b\", \"c\"]\n"),
    ("---", "t: ['a', \"b\"] # t\n", {"t": ["b"]}, 't: ["b"] # t\n'),
    ("---", "t: [ a,  b ]\n", {"t": ["x", "a", "b"]}, "t: [ x, a,  b ]\n"),
    ("---", "t: [\n  a, # x\n  b # y\n]\n", {"t": ["a", "b", "c"]}, "t: [\n  a, # x\n  b, # y\n  c\n]\n"),
    ("---", "t: [\n  a, # x\n  b # y\n]\n", {"t": ["b"]}, "t: [\n  b # y\n]\n"),
    ("---", "m:\n   a: 'x' # A\n   # b\n   b: y\n", {"m": {"a": "x", "b": "z"}}, "m:\n   a: 'x' # A\n   # b\n   b: z\n"),
    ("---", "m:\n   a: 'x' # A\n", {"m": {"a": "x", "b": "z"}}, "m:\n   a: 'x' # A\n   b: z\n"),
    ("---", "m: {a: 'x',  b: y}\n", {"m": {"a": "x", "c": "z"}}, "m: {a: 'x', c: z}\n"),
    ("---", "l:\n- a: 1 # k\n  b: 2\n- a: 3\n", {"l": [{"a": 1, "b": 5}, {"a": 3}]}, "l:\n- a: 1 # k\n  b: 5\n- a: 3\n"),
    ("---", "l:\n- a: 1\n  b: 2\n", {"l": [{"b": 2}]}, "l:\n- b: 2\n"),
    ("---", "l:\n- - p\n  - q # k\n- r\n", {"l": [["q"], "r"]}, "l:\n- - q # k\n- r\n"),
    ("---", "l: &x\n  - a\n", {"l": ["a", "b"]}, "l: &x\n  - a\n  - b\n"),
    ("+++", "t = ['a', \"b\"] # t\n", {"t": ["a", "b", "c"]}, "t = ['a', \"b\", \"c\"] # t\n"),
    ("+++", "t = [\n    'a', # x\n    'b' # y\n]\n", {"t": ["a", "b", "c"]}, "t = [\n    'a', # x\n    'b', # y\n    'c'\n]\n"),
    ("+++", "[m]\na = 'x' # A\nb = 1\n", {"m": {"a": "x", "b": 2}}, "[m]\na = 'x' # A\nb = 2\n"),
    ("+++", "m = { a = 'x',  b = 1 }\n", {"m": {"a": "x", "b": 2}}, "m = { a = 'x',  b = 2 }\n"),
    ("+++", "[[l]]\na = 'x' # A\n\n[[l]]\na = 'y'\n", {"l": [{"a": "x"}, {"a": "z"}]}, "[[l]]\na = 'x' # A\n\n[[l]]\na = 'z'\n"),
    ("+++", TABLES, {"l": [{"a": 2}, {"a": 1}]}, f"t = 1\n{TWO}\n{ONE}\n{NEXT}"),
    ("+++", TABLES, {"l": [{"a": 1}]}, f"t = 1\n{ONE}\n{NEXT}"),
    ("+++", TABLES, {"l": [{"a": 2}]}, f"t = 1\n{TWO}\n{NEXT}"),
    ("+++", TABLES, {"l": [{"a": 1}, {"a": 3}, {"a": 2}]}, f"t = 1\n{ONE}\n[[l]]\na = 3\n\n{TWO}\n{NEXT}"),
    ("+++", "[[l]]\n  a = 1\n", {"l": [{"a": 1}, {"a": 2}]}, "[[l]]\n  a = 1\n[[l]]\n  a = 2\n"),
    ("+++", TABLES, {"l": None}, f"t = 1\n# A\n{NEXT}"),
    ("+++", f"{NEXT}[m]\na = 1\n", {"n": None}, "# N\n[m]\na = 1\n"),
    (";;;", '"t": ["a",  "b"]\n', {"t": ["a", "b", "c"]}, '"t": ["a",  "b", "c"]\n'),
    (";;;", '{"t":["a","b"],"u":1}\n', {"t": ["a", "b", "c"]}, '{"t":["a","b","c"],"u":1}\n'),
    (";;;", '{"m": {"a":1, "b" : 2}}\n', {"m": {"a": 1, "b": 3}}, '{"m": {"a":1, "b" : 3}}\n'),
    (";;;", '{\n  "t": [\n    "a",\n    "b"\n  ]\n}\n', {"t": ["b", "c"]}, '{\n  "t": [\n    "b",\n    "c"\n  ]\n}\n'),
]  # fmt: skip


@pytest.mark.parametrize(("fence", "before", "changes", "after"), EXAMPLES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_single_change_keeps_the_notation_of_its_siblings(
    fence: str, before: str, changes: dict[str, Any], after: str, newline: str
) -> None:
    before, after = (f"{fence}\n{inner}{fence}\nBody\n".replace("\n", newline) for inner in (before, after))
    unset = [key for key, value in changes.items() if value is None]
    values = {key: value for key, value in changes.items() if value is not None}
    assert edit_front_matter("a.md", before.encode(), values, unset).decode() == after
