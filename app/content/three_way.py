"""Comparison of two edits of one text: parts that agree, and parts in which both changed the same lines."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Some lines of the three texts. `merged` is None if both edits changed them in different ways."""

    base: str
    mine: str
    theirs: str
    merged: str | None

    @property
    def is_conflict(self) -> bool:
        """True if a person must choose."""
        return self.merged is None


def compare(base: str, mine: str, theirs: str) -> list[Part]:
    """Split three texts into parts. The texts of each side, joined in order, are the complete text of that side."""
    lines = [text.splitlines(keepends=True) for text in (base, mine, theirs)]
    return list(_parts(*lines))


def merge(parts: Sequence[Part], choices: Sequence[str] = ()) -> str:
    """Join the parts. The nth conflict uses the side `choices[n]`: `mine`, `theirs` or `both`; `mine` without a choice."""
    remaining = iter(choices)
    return "".join(part.merged if part.merged is not None else _chosen(part, next(remaining, "mine")) for part in parts)


def _chosen(part: Part, choice: str) -> str:
    if choice == "both":
        end = "" if part.mine.endswith("\n") or not part.theirs or not part.mine else "\n"
        return part.mine + end + part.theirs
    return part.theirs if choice == "theirs" else part.mine


def _parts(base: list[str], mine: list[str], theirs: list[str]) -> Iterator[Part]:
    to_mine, to_theirs = _matches(base, mine), _matches(base, theirs)
    at, at_mine, at_theirs = 0, 0, 0
    for line in sorted(to_mine.keys() & to_theirs.keys()):
        before = (base[at:line], mine[at_mine : to_mine[line]], theirs[at_theirs : to_theirs[line]])
        yield from _changed(*("".join(side) for side in before))
        yield Part(base[line], base[line], base[line], base[line])
        at, at_mine, at_theirs = line + 1, to_mine[line] + 1, to_theirs[line] + 1
    yield from _changed(*("".join(side) for side in (base[at:], mine[at_mine:], theirs[at_theirs:])))


def _matches(base: list[str], other: list[str]) -> dict[int, int]:
    """Return the line of the other text for each line of the base that it keeps."""
    blocks = difflib.SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}


def _changed(base: str, mine: str, theirs: str) -> Iterator[Part]:
    if not (base or mine or theirs):
        return
    merged = mine if theirs in (base, mine) else theirs if mine == base else None
    yield Part(base, mine, theirs, merged)
