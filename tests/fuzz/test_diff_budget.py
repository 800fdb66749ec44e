"""Comparisons of generated texts: none takes more than a second of CPU time of this process, and none loses text.

`GALLEY_LONG=1` compares 10,000 pairs. `GALLEY_SEED` selects others.
"""

import random
from collections.abc import Callable

import pytest

from app.content.front_matter.item_diff import diff_items
from app.content.page_text import with_line_ends
from app.content.sequence_diff import MAX_PAIRS
from app.content.three_way import compare, merge
from app.content.unified_diff import parse_hunks
from app.drivers.git.file_diff import changed_lines, unified_diff
from tests.fuzz.stage import LONG, SEED
from tests.fuzz.test_readers import cpu_limit

PAIRS = 10_000 if LONG else 60
GIT_PAIRS = PAIRS // 20
"""Pairs of large texts. Git compares each of them in up to three processes of some seconds."""
SIZES = (1_000, 10_000, 60_000)
LARGE_SIZES = (60_000, 250_000, 1_000_000)

pytestmark = [pytest.mark.one_database, pytest.mark.slow]


def _alphabet(dice: random.Random) -> list[str]:
    word = dice.choice(["a", "a ", "ab cd ", "日本", "é"])
    return [f"{word * dice.choice([1, 1, 9])}{n}" if n else word for n in range(dice.choice([1, 2, 26, 5_000]))]


def _repeated(dice: random.Random, size: int, items: list[str], end: str) -> list[str]:
    return [items[0] + end] * (size // len(items[0] + end))


def _alternating(dice: random.Random, size: int, items: list[str], end: str) -> list[str]:
    cycle = [item + end for item in items[: dice.choice([2, 3, 7])]]
    return (cycle * (size // len("".join(cycle)) + 1))[: size // 2]


def _mixed(dice: random.Random, size: int, items: list[str], end: str) -> list[str]:
    return [dice.choice(items) + end for _ in range(size // (len(items[-1]) + 1))]


def _distinct(dice: random.Random, size: int, items: list[str], end: str) -> list[str]:
    return [f"{number:x}{end}" for number in range(size // 6)]


def _giant(dice: random.Random, size: int, items: list[str], end: str) -> list[str]:
    return ["".join(_mixed(dice, size, items, " "))]


SHAPES: tuple[Callable[[random.Random, int, list[str], str], list[str]], ...] = (
    *(_repeated, _alternating, _mixed, _distinct, _giant),
)


def _edited(dice: random.Random, lines: list[str], items: list[str], end: str) -> list[str]:
    """Return the lines in another order, without some of them, with others, or with few edits."""
    result = list(lines)
    kind = dice.choice(["few", "few", "order", "reverse", "part", "others", "none"])
    if kind == "order":
        dice.shuffle(result)
    elif kind == "reverse":
        result.reverse()
    elif kind == "part":
        result = [line for line in result if dice.random() < 0.5]
    elif kind == "others":
        result = [line if number % 2 else f"other{end}" for number, line in enumerate(result)]
    elif kind == "few":
        for _ in range(dice.randrange(1, 6)):
            position = dice.randrange(len(result) + 1)
            result[position : position + dice.randrange(3)] = [f"{dice.choice(items)}{end}"]
    return result


def pair(dice: random.Random, sizes: tuple[int, ...]) -> tuple[str, str]:
    """Return two versions of a text, related or not."""
    size, items, end = dice.choice(sizes), _alphabet(dice), dice.choice(["\n", "\n", "\r\n", " ", ""])
    old = dice.choice(SHAPES)(dice, size, items, end)
    new = _edited(dice, old, items, end) if dice.random() < 0.7 else dice.choice(SHAPES)(dice, size, items, end)
    return "".join(old), "".join(new)


def plain(text: str) -> str:
    """Return a text with line feeds only."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class TestComparisons:
    def test_generated_lines_and_items_are_compared_in_time(self) -> None:
        dice = random.Random(f"{SEED} lines")
        for _ in range(PAIRS):
            old, new = pair(dice, SIZES)
            half = len(old) // 2
            mixed = old[:half] + old[half:].replace("\n", "\r\n")
            with cpu_limit():
                result = with_line_ends(mixed, new)
            assert plain(result) == plain(new)
            with cpu_limit():
                diff_items(old.split(), new.split())

    def test_generated_words_are_compared_in_time(self) -> None:
        dice = random.Random(f"{SEED} words")
        for _ in range(PAIRS):
            old, new = (text.splitlines()[:2_500] for text in pair(dice, SIZES))
            diff = "".join(f"-{before}\n+{after}\n" for before, after in zip(old, new, strict=False))
            with cpu_limit():
                hunks = parse_hunks(f"@@ -1,{len(old)} +1,{len(new)} @@\n{diff}").hunks
            assert all(end <= len(line.text) for line in hunks[0].lines for _, end in line.ranges)

    def test_generated_files_are_compared_and_merged_in_time(self) -> None:
        dice = random.Random(f"{SEED} files")
        for _ in range(GIT_PAIRS):
            old, new = pair(dice, LARGE_SIZES)
            with cpu_limit():
                parse_hunks(unified_diff(old.encode(), new.encode()).decode(errors="replace"))
            mine = f"mine\n{old}"
            with cpu_limit():
                parts = compare(old, mine, new, diff=changed_lines)
                merge(parts)
            assert ["".join(side) for side in zip(*((p.base, p.mine, p.theirs) for p in parts), strict=True)] in (
                [old, mine, new],
                [],
            )

    def test_largest_compared_sequences_are_compared_in_time(self) -> None:
        dice = random.Random(SEED)
        length = int(MAX_PAIRS**0.5)
        old, new = ([dice.choice("abcdefgh") for _ in range(length)] for _ in range(2))
        with cpu_limit():
            assert len(diff_items(old, new)) > length // 10
