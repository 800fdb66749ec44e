"""Generated pairs of edits of one entry or data file. Conflicts are the pairs that changed one key differently.

`GALLEY_LONG=1` merges 2,000 pairs instead of 150; `GALLEY_SEED` selects others.
"""

import os
import random
import re
from dataclasses import dataclass, field
from typing import Any

from app.content.data_text import read_data
from app.content.front_matter.edits import values_equal
from app.content.front_matter.reader import split_front_matter
from app.content.merge.files import FileConflicts, merge_file

PAIRS = 2_000 if os.environ.get("GALLEY_LONG") else 150
SEED = os.environ.get("GALLEY_SEED") or "1"
WORDS = ["garden", "Ünïcode", "it's", 'say "hi"', "a: b", "x # y", "50% off", "[x]", "émoji 😀", "12:30", "*star"]


@dataclass
class Key:
    """A key with its value and the comments of its lines."""

    name: str
    value: str
    above: str = ""
    after: str = ""


@dataclass
class Entry:
    """A file whose keys have one line each."""

    path: str
    keys: list[Key] = field(default_factory=list)

    @property
    def language(self) -> str:
        return {"y": "yaml", "t": "toml", "j": "json"}[self.path[0]]

    @property
    def text(self) -> str:
        """Return the file: a page with front matter, or a data file."""
        fence = {"yaml": "---\n", "toml": "+++\n", "json": ""}[self.language]
        inner = "".join(map(self.lines, range(len(self.keys))))
        inner = "{\n" + inner + "}\n" if self.language == "json" else inner
        return f"{fence}{inner}{fence}\nText\n" if self.path.endswith(".md") else inner

    def lines(self, number: int) -> str:
        """Return the lines of a key with its comments."""
        key = self.keys[number]
        if self.language == "json":
            return f'  "{key.name}": {key.value}{"," if number < len(self.keys) - 1 else ""}\n'
        sign = ": " if self.language == "yaml" else " = "
        return f"{key.above}{key.name}{sign}{key.value}{key.after}\n"

    def values(self) -> dict[str, str]:
        return {key.name: key.value for key in self.keys}


def _value(dice: random.Random) -> str:
    word = dice.choice(WORDS).replace('"', '\\"')
    return dice.choice([f'"{word} {dice.randrange(99)}"', str(dice.randrange(999)), "true", f'["a", "{word}"]', "1.5"])


def entry(dice: random.Random) -> Entry:
    made = Entry(dice.choice(["y.md", "y.md", "t.md", "j.md", "y.yml", "t.toml", "j.json"]))
    for number in range(dice.randint(3, 9)):
        above = dice.choice(["", "", f"# above {number}\n"])
        made.keys.append(Key(f"key{number}", _value(dice), above, dice.choice(["", "", f" # after {number}"])))
    return made


def edited(dice: random.Random, base: Entry, side: str) -> Entry:
    """Return the file with one to three keys changed, added or removed."""
    keys = [Key(key.name, key.value, key.above, key.after) for key in base.keys]
    for number in range(dice.randint(1, 3)):
        kind = dice.choice(["change", "change", "change", "add", "remove"])
        if kind == "add":
            name = dice.choice([f"{side}{number}", "shared"])
            if name not in {key.name for key in keys}:
                keys.insert(dice.randrange(len(keys) + 1), Key(name, _value(dice)))
        elif kind == "change" or len(keys) < 3:
            dice.choice(keys).value = _value(dice)
        else:
            del keys[dice.randrange(len(keys))]
    return Entry(base.path, keys)


def _differs(base: Entry, mine: Entry, theirs: Entry) -> bool:
    """Return whether both sides changed a key in different ways. Lists without repeated items merge as sets."""
    sides = [each.values() for each in (base, mine, theirs)]
    for name in {**sides[0], **sides[1], **sides[2]}:
        old, own, other = (side.get(name) for side in sides)
        are_lists = old in (None, "[]") and all(value is not None and value.startswith("[") for value in (own, other))
        if own != other and old not in (own, other) and not are_lists:
            return True
    return False


def _read(path: str, text: str) -> dict[str, Any]:
    values = split_front_matter(text).values if path.endswith(".md") else read_data(path, text.encode())
    assert values is not None
    return dict(values)


def _expected(path: str, base: Entry, mine: Entry, theirs: Entry) -> dict[str, Any]:
    """Return the values with the changes of both sides. A list that both changed is a set."""
    sides = [_read(path, each.text) for each in (base, mine, theirs)]
    merged = {name: _merged(*(side.get(name) for side in sides)) for name in {**sides[0], **sides[1], **sides[2]}}
    return {name: value for name, value in merged.items() if value is not None}


def _merged(old: Any, own: Any, other: Any) -> Any:
    if own in (old, other) or other == old:
        return other if own == old else own
    added = {item for item in own + other if item not in (old or [])}
    return added | {item for item in own if item in other}


def _comments(text: str) -> list[str]:
    return re.findall(r"# (?:above|after) \d+", text)


class TestPairs:
    def test_pairs_conflict_only_if_both_changed_a_key_in_different_ways(self) -> None:
        dice, found = random.Random(SEED), 0
        for _ in range(PAIRS):
            base = entry(dice)
            mine, theirs = edited(dice, base, "mine"), edited(dice, base, "theirs")
            result = merge_file(base.path, *(each.text.encode() for each in (base, mine, theirs)))
            shown = "\n".join(each.text for each in (base, mine, theirs))
            assert isinstance(result, FileConflicts) is _differs(base, mine, theirs), shown
            if isinstance(result, FileConflicts):
                found += 1
                continue
            assert result.data is not None
            text = result.data.decode()
            self._check(text, base, mine, theirs)
        assert 0 < found < PAIRS / 2

    @staticmethod
    def _check(text: str, base: Entry, mine: Entry, theirs: Entry) -> None:
        values, expected = _read(base.path, text), _expected(base.path, base, mine, theirs)
        assert values.keys() == expected.keys(), text
        for name, value in expected.items():
            found = set(values[name]) if isinstance(value, set) else values[name]
            assert found == value if isinstance(value, set) else values_equal(found, value), text
        changed = {name for name, value in mine.values().items() if value != base.values().get(name)}
        for number, key in enumerate(theirs.keys):
            if key.name in values and key.name not in changed and base.language != "json":
                assert theirs.lines(number) in text, text
        removed = [key for key in base.keys if key.name not in values]
        orphans = _comments("".join(key.above for key in removed))  # Editors of fields keep the lines above a key.
        kept = _comments("".join(key.above + key.after for key in theirs.keys if key.name in values))
        assert [one for one in _comments(text) if one not in orphans] == kept or base.language == "json", text
