"""Tests of structured edits of front matter. All other bytes are unchanged."""

import os
import random
import re
from collections import Counter
from typing import Any

import pytest

from app.content.front_matter.editor import UnsupportedEdit, edit_front_matter, edit_values
from app.content.front_matter.edits import KeyEdit, values_equal
from app.content.front_matter.reader import find_block, split_front_matter
from app.content.text import decode
from tests.core.content.front_matters import make

FILES = 2_000 if os.environ.get("GALLEY_LONG") else 500
VALUES: list[Any] = ["New words", "it's: a # trap", "yes", "2025-05-05", "", "line one\nline two\n", "日本 😀", 7, 1.5, True,
                     None, [], ["a", "b: c"], {}, {"x": [1, {"y": "z"}]}, " spaces ", "tab\there", "\x85 nel", "- x"]  # fmt: skip


def values_of(data: bytes) -> dict[str, Any] | None:
    return split_front_matter(decode(data)[0] or "").values


class TestGeneratedDocuments:
    def test_edit_with_unchanged_values_keeps_every_byte(self) -> None:
        dice = random.Random(1)
        for _ in range(FILES):
            made = make(dice)
            values = values_of(made.data)
            assert values is not None, made.data
            assert edit_front_matter(made.path, made.data, values) == made.data

    def test_set_key_changes_only_its_lines(self) -> None:
        dice, outcomes = random.Random(2), Counter[str]()
        for _ in range(FILES):
            made, value = make(dice), dice.choice(VALUES)
            values = values_of(made.data) or {}
            key = dice.choice([*values, "added"])
            outcome = _check(made.data, made.language, values | {key: value}, {key: value}, [])
            outcomes[outcome if made.language == "yaml" or value is not None else "null in TOML"] += 1
        assert outcomes["kept"] > 0.9 * FILES, outcomes

    def test_removed_key_removes_only_its_lines(self) -> None:
        dice, outcomes = random.Random(3), Counter[str]()
        for _ in range(FILES):
            made = make(dice)
            values = values_of(made.data) or {}
            key = dice.choice(list(values))
            left = {name: value for name, value in values.items() if name != key}
            outcomes[_check(made.data, made.language, left, {}, [key])] += 1
        assert outcomes["kept"] > 0.9 * FILES, outcomes


def _check(data: bytes, language: str, expected: dict[str, Any], changes: dict[str, Any], unset: list[str]) -> str:
    try:
        edited = edit_front_matter("content/a.md", data, changes, unset)
    except UnsupportedEdit as refusal:
        return str(refusal)
    [key] = [*changes, *unset]
    assert values_equal(values_of(edited), expected), (data, edited, changes, unset)
    assert _others(edited, key, language) == _others(data, key, language), (data, edited, changes, unset)
    return "kept"


def _others(data: bytes, key: str, language: str) -> list[str]:
    """Return the lines that do not belong to the key: lines of other keys, separate comments and the text."""
    text = decode(data)[0] or ""
    block = find_block(text)
    assert block is not None
    kept, inside, in_table = [], False, False
    for line in text[block.start : block.end].splitlines(keepends=True):
        bare = line.strip()
        if bare.startswith("#") and not line[0].isspace():
            kept.append(line)
        elif (opened := OPENS[language].match(line)) and (line.startswith("[") or not in_table):
            inside, in_table = opened[1] == key, line.startswith("[")
        if bare and not bare.startswith("#") and not inside:
            kept.append(line if language != "json" else line.rstrip().rstrip(","))
    mark = data[: len(data) - len(text.encode())]
    return [mark.hex(), text[: block.start], *kept, text[block.end :]]


OPENS = {
    "yaml": re.compile(r"""(?:\? )?["']?([\w-]+)["']?(?::|\r?$)"""),
    "toml": re.compile(r"""\[{0,2}["']?(\w+)["']?(?: *=|\])"""),
    "json": re.compile(r"""(?:\s*"((?:key|added)\d*)"|\}\r?$)"""),
}


class TestYaml:
    @pytest.mark.parametrize(
        ("before", "changes", "after"),
        [
            ("title: Old  # why\n", {"title": "New"}, "title: New  # why\n"),
            ("title: 'Old'\n", {"title": "It's"}, "title: 'It''s'\n"),
            ('title: "Old"\n', {"title": 'a "b"'}, 'title: "a \\"b\\""\n'),
            ("title: Old\n", {"title": "a: b"}, 'title: "a: b"\n'),
            ("draft: yes\n", {"draft": True}, "draft: true\n"),
            ("date: 2024-01-01\n", {"date": "2025-02-02"}, "date: 2025-02-02\n"),
            ("title: Old\n", {"title": "2025-02-02"}, 'title: "2025-02-02"\n'),
            ("tags: [a, b] # t\n", {"tags": ["c", "d, e"]}, 'tags: [c, "d, e"] # t\n'),
            ("tags:\n- a\n- b\n", {"tags": ["c"]}, "tags:\n- c\n"),
            ("tags:\n    - a\n# c\nx: 1\n", {"tags": ["c"]}, "tags:\n    - c\n# c\nx: 1\n"),
            ("x: 1\n\n# end\n", {"z": 2}, "x: 1\nz: 2\n\n# end\n"),
            ("x: 1\n", {"date": "2025-02-02"}, "x: 1\ndate: 2025-02-02\n"),
            ("text: |\n  a\n  b\nx: 1\n", {"text": "c\nd\n"}, "text: |\n  c\n  d\nx: 1\n"),
            ("x:\ny: 1\n", {"x": "now"}, "x: now\ny: 1\n"),
            ("x: # why\ny: 1\n", {"x": ["a"]}, "x: # why\n  - a\ny: 1\n"),
            ("a: &n 1\nb: *n\n", {"b": 2}, "a: &n 1\nb: 2\n"),
            ("{a: 1, b: 2}\n", {"a": "x, y"}, '{a: "x, y", b: 2}\n'),
        ],
    )
    def test_edit_writes_idiomatic_yaml(self, before: str, changes: dict[str, Any], after: str) -> None:
        made = edit_front_matter("a.md", f"---\n{before}---\nBody\n".encode(), changes)
        assert made.decode() == f"---\n{after}---\nBody\n"

    @pytest.mark.parametrize(
        ("before", "order", "after"),
        [
            ("- 'a'\n- b # why\n- \"c\"\n", "210", "- \"c\"\n- b # why\n- 'a'\n"),
            ("- a\n\n- b\n\n- 'c'\n", "201", "- 'c'\n\n- a\n\n- b\n"),
            ("# list\n- a\n- 'b'\n", "10", "# list\n- 'b'\n- a\n"),
            ("# a\n- a\n\n# b\n- 'b'\n", "10", "# b\n- 'b'\n\n# a\n- a\n"),
            ("- x: 'a'\n  # in\n  y: |\n    z\n- x: \"b\"\n", "10", "- x: \"b\"\n- x: 'a'\n  # in\n  y: |\n    z\n"),
            ("- 'a'\n- b\n- 'c'\n", "20n", "- 'c'\n- 'a'\n- new\n"),
            ("- 'a'\n- b\n- 'c'\n- d\n", "23", "- 'c'\n- d\n"),
            ("- a\n# b\n- b\n", "0", "- a\n"),
            ("- a\n\n- b\n\n# c\n- c\n", "0", "- a\n"),
            ("# a\n- 'a'\n# b\n- b\n\n# c\n- c\n", "02", "# a\n- 'a'\n\n# c\n- c\n"),
            ("# a\n- 'a'\n# b\n- b\n", "1", "# b\n- b\n"),
            ("# list\n- 'a'\n- b\n", "1", "# list\n- b\n"),
        ],
    )
    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_moved_or_removed_item_keeps_the_bytes_of_the_others(
        self, before: str, order: str, after: str, newline: str
    ) -> None:
        data = f"---\nlist:\n{before}x: 1\n---\n".replace("\n", newline).encode()
        old = (values_of(data) or {})["list"]
        made = edit_front_matter("a.md", data, {"list": [old[int(one)] if one != "n" else "new" for one in order]})
        assert made.decode() == f"---\nlist:\n{after}x: 1\n---\n".replace("\n", newline)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (
                '{\n  "list": [{"x": "a", "y": 12345678901234567890, "z": 1e2}, 3]\n}\n\n',
                '{\n  "list": [3, {"x": "new", "y": 12345678901234567890, "z": 1e2}]\n}\n\n',
            ),
            ("---\nlist: [{x: 'a', y: 0x12, z: ~}, 3]\n---\n", "---\nlist: [3, {x: 'new', y: 0x12, z: ~}]\n---\n"),
            (
                "+++\nlist = [{x = 'a', y = 0x12, z = 1}, 3]\n+++\n",
                "+++\nlist = [3, {x = 'new', y = 0x12, z = 1}]\n+++\n",
            ),
        ],
    )
    def test_moved_item_in_brackets_with_a_change_keeps_its_other_bytes(self, before: str, after: str) -> None:
        first, second = (values_of(before.encode()) or {})["list"]
        made = edit_front_matter("a.md", before.encode(), {"list": [second, {**first, "x": "new"}]})
        assert made.decode() == after

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("list:\n# kept\n- a\n- b\n", "list:\n# kept\n  []\n"),
            ("list: # why\n    # kept\n    - a\n", "list: # why\n    # kept\n    []\n"),
        ],
    )
    def test_emptied_list_keeps_the_comments_above_its_items(self, before: str, after: str) -> None:
        made = edit_front_matter("a.md", f"---\n{before}x: 1\n---\n".encode(), {"list": []})
        assert made.decode() == f"---\n{after}x: 1\n---\n"

    def test_item_is_added_to_a_text_without_a_final_newline(self) -> None:
        edit = KeyEdit({"list": ["a", "b"]}, [], "\n", {"list": ["a"]})
        assert edit_values("yaml", "list:\n- a", edit) == "list:\n- a\n- b"

    def test_moved_item_with_a_change_keeps_its_other_bytes(self) -> None:
        data = b"---\nlist:\n- {x: 'a', y: 'b'}\n- x: 'c' # c\n  y: 'd'\n- x: e\n---\n"
        made = edit_front_matter("a.md", data, {"list": [{"x": "c", "y": "new"}, {"x": "a", "y": "b"}, {"x": "e"}]})
        assert made == b"---\nlist:\n- x: 'c' # c\n  y: 'new'\n- {x: 'a', y: 'b'}\n- x: e\n---\n"

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("---\nlist: ['a', b, \"c\"]\n---\n", "---\nlist: [\"c\", 'a', b]\n---\n"),
            ("+++\nlist = ['a', \"b\", 'c']\n+++\n", "+++\nlist = ['c', 'a', \"b\"]\n+++\n"),
            ('{\n  "list": ["a", {"x":1}, {"y":[ 2 ]}]\n}\n\n', '{\n  "list": [{"y":[ 2 ]}, "a", {"x":1}]\n}\n\n'),
            (
                "+++\n[[list]]\nx = 'a'\n\n[[list]]\nx = \"b\"\n\n[[list]] # c\nx = 'c' # d\n\n+++\n",
                "+++\n[[list]] # c\nx = 'c' # d\n\n[[list]]\nx = 'a'\n\n[[list]]\nx = \"b\"\n\n+++\n",
            ),
        ],
    )
    def test_moved_item_of_another_notation_keeps_its_bytes(self, before: str, after: str) -> None:
        old = (values_of(before.encode()) or {})["list"]
        assert edit_front_matter("a.md", before.encode(), {"list": [old[2], old[0], old[1]]}).decode() == after

    @pytest.mark.parametrize(
        ("before", "changes", "unset"),
        [
            ("a: &n 1\nb: *n\n", {"a": 2}, []),
            ("base: &b {x: 1}\n<<: *b\n", {}, ["x"]),
            ("{}\n", {"b": 2}, []),
            ("a: 1\na: 2\n", {"a": 3}, []),
            ("a: [unclosed\n", {"a": 1}, []),
        ],
    )
    def test_unsupported_edit_raises(self, before: str, changes: dict[str, Any], unset: list[str]) -> None:
        with pytest.raises(UnsupportedEdit):
            edit_front_matter("a.md", f"---\n{before}---\n".encode(), changes, unset)


class TestFiles:
    def test_missing_front_matter_is_created_in_markdown_only(self) -> None:
        assert edit_front_matter("a.md", b"Body\r\n", {"title": "X"}) == b"---\r\ntitle: X\r\n---\r\n\r\nBody\r\n"
        with pytest.raises(UnsupportedEdit):
            edit_front_matter("a.html", b"<p>\n", {"title": "X"})

    @pytest.mark.parametrize(
        ("path", "data"), [("a.png", b"x"), ("a.md", b"\xff\xfea\0"), ("a.md", b"caf\xe9"), ("a.md", b"\0")]
    )
    def test_unsupported_files_and_encodings_are_refused(self, path: str, data: bytes) -> None:
        with pytest.raises(UnsupportedEdit):
            edit_front_matter(path, data, {"a": 1})

    def test_edit_keeps_byte_order_mark_and_line_ends(self) -> None:
        data = b"\xef\xbb\xbf---\r\na: 1\r\nb: [x]\r\n---\r\nBody\nmixed\r\n"
        assert edit_front_matter("a.md", data, {"a": ["p", "q"], "c": 2}) == (
            b"\xef\xbb\xbf---\r\na:\r\n  - p\r\n  - q\r\nb: [x]\r\nc: 2\r\n---\r\nBody\nmixed\r\n"
        )

    def test_edit_of_mutated_bytes_succeeds_or_raises_unsupported_edit(self) -> None:
        dice = random.Random(4)
        for _ in range(1_500):
            made = bytearray(make(dice).data)
            for _ in range(dice.randint(1, 6)):
                made[dice.randrange(len(made))] = dice.randrange(256)
            try:
                edited = edit_front_matter("a.md", bytes(made), {"title": "x"})
            except UnsupportedEdit:
                continue
            assert (values_of(edited) or {})["title"] == "x"
