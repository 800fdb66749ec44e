"""Generated triples: a file and two edits of it. A result keeps what both sides agree on and contains no new value.

`GALLEY_LONG=1` merges 100,000 triples instead of 1,500; `GALLEY_SEED` selects others.
"""

import json
import os
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from itertools import pairwise
from typing import Any

import yaml

from app.content.merge.files import FileConflicts, merge_file

TRIPLES = 100_000 if os.environ.get("GALLEY_LONG") else 1_500
SEED = os.environ.get("GALLEY_SEED") or "1"
PATHS = ("y.md", "y.md", "t.md", "j.md", "y.yml", "y.yml", "t.toml", "j.json", "list.yml", "list.json")
THINGS = ["10.50 EUR", "2024-05-01", "12:30", "+49 30 123 45", "a@b.example", "v1.10.2", "img/a-1.png", "7 - 9 Uhr"]
WORDS = (
    "the",
    "harbour",
    "opens",
    "every",
    "morning",
    "and",
    "boats",
    "leave",
    "when",
    "high",
    "water",
    "allows",
    "it",
    "pier",
)
IDENTITIES = ("id", "slug", "name", "path", "url", "href", "key", "title", None)


def numbered(dice: random.Random, thing: str) -> str:
    """Return a thing with another digit."""
    at = dice.choice([match.start() for match in re.finditer(r"\d", thing)] or [len(thing)])
    return thing[:at] + str(dice.randrange(10)) + thing[at + 1 :]


class Triples:
    """Generator of files of one form and of their edits."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.path = dice, dice.choice(PATHS)
        self.count = 0
        self.identity = dice.choice(IDENTITIES)
        self.with_objects = dice.random() < 0.7

    def term(self) -> str:
        self.count += 1
        return f"{self.dice.choice(WORDS)}{chr(97 + self.count % 26)}{chr(97 + self.count // 26 % 26)}"

    def scalar(self) -> Any:
        dice = self.dice
        kinds: list[Callable[[], Any]] = [
            self.term,
            lambda: f"{self.term()} {self.term()}",
            lambda: dice.choice(THINGS),
            lambda: dice.randrange(999),
            lambda: dice.randrange(99) + 0.5,
            lambda: dice.random() < 0.5,
        ]
        return dice.choice(kinds)()

    def item(self) -> dict[str, Any]:
        item = {self.identity: self.term()} if self.identity else {"text": self.term()}
        return item | {"label": self.term(), "weight": self.dice.randrange(9)}

    def values(self) -> dict[str, Any]:
        dice = self.dice
        if self.path.startswith("list"):
            return {"items": [self.item() for _ in range(dice.randint(2, 5))]}
        made = {f"key{number}": self.scalar() for number in range(dice.randint(1, 4))}
        made["lastmod"] = dice.choice(["2024-05-01", "May 1, 2024"])
        made["tags"] = [self.term() for _ in range(dice.randint(1, 4))]
        made["steps"] = [f"{self.term()} {self.term()}" for _ in range(dice.randint(1, 4))]
        made["options"] = {self.term(): self.scalar() for _ in range(dice.randint(2, 4))}
        if self.with_objects:
            made["menu"] = [self.item() for _ in range(dice.randint(2, 4))]
        return made

    def sentence(self) -> str:
        words = [self.term() for _ in range(self.dice.randint(4, 9))]
        words.insert(self.dice.randrange(len(words)), self.dice.choice(THINGS))
        return " ".join(words)

    def block(self) -> str:
        dice = self.dice
        kinds: list[Callable[[], str]] = [
            self.sentence,
            self.sentence,
            lambda: f"{self.sentence()}\n{self.sentence()}",
            lambda: "\n".join(f"- {self.sentence()}" for _ in range(dice.randint(2, 4))),
            lambda: "\n".join(f"| {self.term()} | {dice.randrange(99)} |" for _ in range(3)),
            lambda: f"```\n{self.term()}\n\n{self.term()}\n```",
        ]
        return dice.choice(kinds)()

    def section(self) -> list[str]:
        heading = f"## {self.term()}"
        blocks = [self.block() for _ in range(self.dice.randint(1, 2))]
        return [f"{heading}\n{blocks[0]}", *blocks[1:]] if self.dice.random() < 0.3 else [heading, *blocks]

    def body(self) -> list[str]:
        return [block for _ in range(self.dice.randint(1, 3)) for block in self.section()]

    def edited_values(self, values: dict[str, Any]) -> dict[str, Any]:
        values = deepcopy(values)
        for _ in range(self.dice.randint(0, 3)):
            self._edit_mapping(values)
        return values

    def _edit_mapping(self, values: dict[str, Any]) -> None:
        dice, key = self.dice, self.dice.choice(list(values))
        kind = dice.random()
        if isinstance(values[key], dict) and len(values[key]) > 1 and kind < 0.7:
            self._edit_mapping(values[key])
        elif isinstance(values[key], list) and kind < 0.8:
            self._edit_list(values[key])
        elif "items" in values:
            pass
        elif kind < 0.6:
            values[key] = self._changed(values[key])
        elif kind < 0.7 and len(values) > 2:
            del values[key]
        elif kind < 0.85:
            self._insert_key(
                values, dice.choice([self.term(), "shared"]), self.scalar(), dice.randrange(len(values) + 1)
            )
        else:
            value = values.pop(key)
            self._insert_key(values, key, value, dice.randrange(len(values) + 1))

    @staticmethod
    def _insert_key(values: dict[str, Any], key: str, value: Any, at: int) -> None:
        pairs = [pair for pair in values.items() if pair[0] != key]
        pairs.insert(at, (key, value))
        values.clear()
        values.update(pairs)

    def _changed(self, value: Any) -> Any:
        if value in ("2024-05-01", "May 1, 2024"):
            return numbered(self.dice, value).replace("-00", "-01").replace("-0 ", "-1 ")
        return self.scalar()

    def _edit_list(self, items: list[Any]) -> None:
        dice = self.dice
        at, kind = dice.randrange(len(items) + 1), dice.random()
        is_object = bool(items) and isinstance(items[0], dict)
        if kind < 0.3 or not items:
            new = self.item() if is_object else self.term()
            items.insert(dice.choice([0, at, len(items)]), new)
        elif kind < 0.5:
            items.insert(dice.choice([0, at]), items.pop(dice.randrange(len(items))))
        elif kind < 0.6 and len(items) > 1:
            del items[at % len(items)]
        elif is_object:
            key = dice.choice([key for key in items[at % len(items)] if key != self.identity])
            items[at % len(items)][key] = self.scalar()
        else:
            items[at % len(items)] = f"{self.term()} {self.term()}"

    def edited_body(self, blocks: list[str]) -> list[str]:
        dice, blocks = self.dice, list(blocks)
        for _ in range(dice.randint(0, 3)):
            at, kind = dice.randrange(len(blocks) + 1), dice.random()
            if kind < 0.2:
                blocks[at:at] = self.section()
            elif kind < 0.4:
                blocks.insert(at, self.block())
            elif kind < 0.5 and len(blocks) > 1:
                del blocks[at % len(blocks)]
            else:
                blocks[at % len(blocks)] = self._edited_block(blocks[at % len(blocks)])
        return blocks

    def _edited_block(self, block: str) -> str:
        dice, kind = self.dice, self.dice.random()
        if kind < 0.3 and "\n" in block and not block.startswith("```"):
            lines = block.split("\n")
            lines.insert(dice.randrange(1, len(lines) + 1), dice.choice([lines[-1], f"- {self.sentence()}"]))
            return "\n".join(lines)
        pieces = re.split(r"(\s+)", block)
        spots = [at for at, piece in enumerate(pieces) if re.search(r"\w", piece)] or [0]
        at = dice.choice(spots)
        if kind < 0.6 and (digits := [spot for spot in spots if re.search(r"\d", pieces[spot])]):
            at = dice.choice(digits)
            pieces[at] = numbered(dice, pieces[at])
        elif kind < 0.8:
            pieces[at] = self.term()
        elif kind < 0.9:
            pieces[at] += f" {self.term()}"
        else:
            del pieces[at - 1 if at > 1 else at]
        return "".join(pieces)

    def text(self, values: dict[str, Any], blocks: list[str], *, pages: bool) -> str:
        head = written(self.path, values)
        if not pages:
            return head
        fence = {"y": "---\n", "t": "+++\n", "j": ""}[self.path[0]]
        return f"{fence}{head}{fence}\n" + "\n\n".join(blocks) + "\n"

    def triple(self) -> list[bytes]:
        is_page, values, body = self.path.endswith(".md"), self.values(), self.body()
        sides = [(values, body)] + [(self.edited_values(values), self.edited_body(body)) for _ in "ab"]
        end = self.dice.choice(["\n", "\n", "\r\n"])
        files = []
        for side in sides:
            text = self.text(*side, pages=is_page)
            side_end = self.dice.choice(["\n", "\r\n"]) if self.dice.random() < 0.2 else end
            text = text.removesuffix("\n") if self.dice.random() < 0.2 else text
            files.append(text.replace("\n", side_end).encode())
        return files


def written(path: str, values: dict[str, Any]) -> str:
    """Return values in the notation of a path."""
    root: Any = values["items"] if path.startswith("list") else values
    if path.endswith(".json") or path[0] == "j":
        return json.dumps(root, indent=2) + "\n"
    if path[0] != "t":
        return yaml.safe_dump(root, sort_keys=False, allow_unicode=True, width=1_000)
    plain = {key: value for key, value in values.items() if not isinstance(value, dict) and key != "menu"}
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in plain.items()]
    for key, value in values.items():
        tables = [] if key in plain else [value] if isinstance(value, dict) else value
        mark = "[[%s]]\n" if isinstance(value, list) else "[%s]\n"
        lines += [
            mark % key + "".join(f"{name} = {json.dumps(one)}\n" for name, one in item.items()) for item in tables
        ]
    return "".join(lines)


def read(path: str, text: str) -> tuple[dict[str, Any], str]:
    """Return the values and the body. Raises ValueError, yaml.YAMLError for a file that cannot be read."""
    head, body = text, ""
    if path.endswith(".md"):
        fence = {"y": "---\n", "t": "+++\n", "j": ""}[path[0]]
        if fence:
            _empty, head, body = text.split(fence, 2)
        else:
            end = json.JSONDecoder().raw_decode(text)[1]
            head, body = text[:end], text[end:]
    if path[0] == "t":
        return tomllib.loads(head), body
    root = json.loads(head) if path[0] == "j" or path.endswith(".json") else yaml.safe_load(head)
    return (root if isinstance(root, dict) else {"items": root}), body


def plain(data: bytes) -> str:
    text = data.decode().replace("\r\n", "\n")
    return text if text.endswith("\n") else f"{text}\n"


def scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner)
    else:
        yield repr(value)


def name_of(item: Any, identity: str | None) -> str:
    return repr(item.get(identity, item)) if isinstance(item, dict) else repr(item)


class Checks:
    """The rules for a result. Each failure is a text."""

    def __init__(self, path: str, identity: str | None, files: list[bytes], result: bytes) -> None:
        self.identity, self.faults = identity, list[str]()
        self.files, self.result = files, result
        (self.base, self.base_body), (self.mine, self.mine_body), (self.theirs, self.theirs_body) = (
            read(path, plain(data)) for data in files
        )
        try:
            values, body = read(path, plain(result))
        except (ValueError, yaml.YAMLError) as error:
            self.faults.append(f"invalid: {error}")
            return
        self._values("", self.base, self.mine, self.theirs, values)
        known = {one for side in (self.mine, self.theirs) for one in scalars(side)}
        self._expect("values", set(scalars(values)) <= known)
        self._body(body)
        self._form()

    def _expect(self, name: str, is_kept: bool) -> None:
        if not is_kept:
            self.faults.append(name)

    def _values(self, at: str, base: Any, mine: Any, theirs: Any, found: Any) -> None:
        if mine in (theirs, base) or theirs == base:
            expected = theirs if mine == base else mine
            if mine == theirs or not isinstance(expected, list):
                self._expect(f"{at} agreed", found == expected)
        if all(isinstance(one, dict) for one in (base, mine, theirs, found)):
            self._order(at, *(list(one) for one in (base, mine, theirs, found)))
            absent: dict[str, Any] = {}
            for key in {**base, **mine, **theirs}:
                self._values(
                    f"{at}/{key}", *(one.get(key, absent) for one in (base, mine, theirs)), found.get(key, absent)
                )
        if all(isinstance(one, list) for one in (base, mine, theirs, found)):
            self._items(at, base, mine, theirs, found)

    def _items(self, at: str, *lists: list[Any]) -> None:
        names = [[name_of(item, self.identity) for item in one] for one in lists]
        if any(len(set(one)) != len(one) for one in names[:3]):
            return
        self._expect(f"{at} repeated", len(set(names[3])) == len(names[3]))
        self._order(at, *names)
        if all(isinstance(item, dict) and self.identity for one in lists for item in one):
            sides = [dict(zip(each, one, strict=True)) for each, one in zip(names, lists, strict=True)]
            for name in sides[0].keys() & sides[1].keys() & sides[2].keys():
                old, own, other, new = (side.get(name) for side in sides)
                self._values(f"{at}/{name}", old, own, other, new)

    def _order(self, at: str, base: list[str], mine: list[str], theirs: list[str], found: list[str]) -> None:
        shared = set(base) & set(mine) & set(theirs)
        self._expect(f"{at} kept", self.identity is None or shared <= set(found))
        old, own, other, new = (
            [name for name in one if name in shared & set(found)] for one in (base, mine, theirs, found)
        )
        moved = own if other == old else other
        self._expect(f"{at} order", (new == moved and old in (own, other)) or own == other == new)
        added = [name for name in found if name not in base]
        self._expect(f"{at} added", self.identity is None or set(added) <= set(mine) | set(theirs))
        for side, rest in ((mine, theirs), (theirs, mine)):
            is_first = bool(side) and side[0] not in base and (rest[:1] == base[:1] or not rest)
            if is_first and at.rpartition("/")[2] in ("tags", "steps", "menu", "items"):
                self._expect(f"{at} first", found[:1] == side[:1])

    def _body(self, body: str) -> None:
        sides = self.mine_body, self.theirs_body
        words, known = body.split(), {word for side in sides for word in side.split()}
        self._expect("words", set(words) <= known)
        pairs = {pair for side in sides for pair in pairwise(side.split())}
        for pair in pairwise(words):
            signs = [bool(re.search(r"\d", word)) for word in pair]
            joins = "\n" in body[body.find(pair[0]) :].split(pair[1])[0]
            self._expect(f"pair {pair}", pair in pairs or not all(signs) or joins)
        for side, other in (sides, sides[::-1]):
            added = Counter(side.split()) - Counter(self.base_body.split())
            unique = {word for word in added if word.isalpha()}
            self._expect("lost", unique <= set(words))
            self._expect("agreed lines", self._common_lines(side, other) <= set(body.splitlines()))
        self._headings(body)

    def _common_lines(self, side: str, other: str) -> set[str]:
        once = {line for line, count in Counter(self.base_body.splitlines()).items() if count == 1}
        return once & set(side.splitlines()) & set(other.splitlines())

    def _headings(self, body: str) -> None:
        places = [headings_of(side) for side in (self.mine_body, self.theirs_body)]
        known = [word for word in self.base_body.split() if len(word) > 3 and word.isalnum()]
        for block, heading in headings_of(body).items():
            allowed = {side[block] for side in places if block in side}
            remaining = allowed & set(body.splitlines())  # A heading that one side renamed or removed is not there.
            # An edit can join two words of a block.
            is_added = not block.startswith("#") and not any(word in block for word in known)
            self._expect(f"heading of {block}", not (is_added and remaining) or heading in allowed)

    def _form(self) -> None:
        base, mine, theirs = self.files
        for name, has in (("ends", lambda data: b"\r\n" in data), ("final end", lambda data: data.endswith(b"\n"))):
            expected = has(mine) if has(theirs) == has(base) else has(theirs)
            self._expect(name, has(self.result) == expected)
        self._expect("mixed ends", self.result.count(b"\r\n") in (0, self.result.count(b"\n")))


def headings_of(body: str) -> Mapping[str, str]:
    """Return the heading above each block that occurs once. Fenced code is one block."""
    result, heading = {}, ""
    body = re.sub(r"(?<=```\n)([^\n`]+)\n\n([^\n`]+)(?=\n```)", r"\1\n\2", body)
    blocks = re.sub(r"^(## .*)$", r"\n\1\n", body, flags=re.MULTILINE).split("\n\n")
    counts = Counter(block.strip() for block in blocks)
    for block in (block.strip() for block in blocks):
        if block.startswith("## "):
            heading = block
        elif counts[block] == 1 and block:
            result[block] = heading
    return result


class TestTriples:
    def test_results_keep_agreements_orders_words_and_forms(self) -> None:
        dice, merged, faults = random.Random(SEED), 0, list[str]()
        for _ in range(TRIPLES):
            triples = Triples(dice)
            base, mine, theirs = files = triples.triple()
            result, mirrored = (
                merge_file(triples.path, base, mine, theirs),
                merge_file(triples.path, base, theirs, mine),
            )
            shown = f"\n{triples.path}\n" + "\n=====\n".join(data.decode() for data in files)
            if isinstance(result, FileConflicts) or isinstance(mirrored, FileConflicts):
                faults += [f"mirror{shown}"] * (type(result) is not type(mirrored))
                continue
            merged += 1
            data = result.data or b""
            checks = Checks(triples.path, triples.identity, files, data).faults
            checks += ["mirror"] * (data != mirrored.data)
            faults += [f"{checks}{shown}\n>>>>>\n{data.decode()}"] * bool(checks)
        assert not faults, f"{len(faults)} of {merged}:\n" + "\n#####\n".join(faults[:4])
        assert merged > TRIPLES / 3
