"""Changes between two sequences, from a longest common subsequence in bounded time.

The algorithm is that of Hyyrö, "Bit-Parallel LCS-length Computation Revisited" (2004): one row of the table is one
integer, so that 64 pairs of items cost one step of the processor.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

MAX_PAIRS = 25_000_000
"""Above this number of pairs, items that occur once on both sides divide the sequences into parts first.

The parts share the number: a part that is larger than the remainder is one change. 25 million pairs take 10 ms, 3 MB.
"""


class RangeChange(NamedTuple):
    """The items `start` to `end` of the old sequence are replaced by `new_start` to `new_end` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def find_changes(
    old: Sequence[Hashable], new: Sequence[Hashable], *, max_pairs: int = MAX_PAIRS, moves_changes: bool = True
) -> list[RangeChange]:
    """Return the changes from `old` to `new`, in order. There is at least one equal item between two changes.

    With `moves_changes`, an addition or removal that can be at several positions is at the last one, so that equal
    changes of two versions are at the same position.
    """
    start, end = common_ends(old, new)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    fits = len(before) * len(after) <= max_pairs
    pairs = _equal_pairs(before, after) if fits else _divided_pairs(before, after, max_pairs)
    result, at, new_at = [], 0, 0
    for position, new_position in [*pairs, (len(before), len(after))]:
        if (at, new_at) != (position, new_position):
            result.append(RangeChange(start + at, start + position, start + new_at, start + new_position))
        at, new_at = position + 1, new_position + 1
    if not moves_changes:
        return result
    limits = [change.start - 1 for change in result[1:]] + [len(old)]
    return [_at_last_position(old, new, change, limit) for change, limit in zip(result, limits, strict=False)]


def _at_last_position(old: Sequence[Hashable], new: Sequence[Hashable], change: RangeChange, limit: int) -> RangeChange:
    start, end, new_start, new_end = change
    if start != end and new_start != new_end:
        return change
    items, first, last = (new, new_start, new_end) if start == end else (old, start, end)
    count = next((n for n in range(limit - end) if items[first + n] != items[last + n]), limit - end)
    return RangeChange(*(position + count for position in change))


def equal_parts(changed: Sequence[RangeChange], length: int) -> Iterator[tuple[range, int]]:
    """Yield the positions of the old items that no change contains, and that of the first one in the new sequence."""
    at, new_at = 0, 0
    for change in changed:
        yield range(at, change.start), new_at
        at, new_at = change.end, change.new_end
    yield range(at, length), new_at


def common_ends(first: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[int, int]:
    """Return the length of the common start, and that of the common end of what follows it."""
    start = _common(first, other)
    return start, _common(first[start:][::-1], other[start:][::-1])


def _common(first: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    pairs = enumerate(zip(first, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(other)))


def _divided_pairs(old: Sequence[Hashable], new: Sequence[Hashable], max_pairs: int) -> list[tuple[int, int]]:
    """Return the positions of equal items, with unique items as the bounds of smaller comparisons."""
    pairs, at, new_at = list[tuple[int, int]](), 0, 0
    for position, new_position in [*_unique_pairs(old, new), (len(old), len(new))]:
        before, after = old[at:position], new[new_at:new_position]
        if before == after:  # also if both are empty
            pairs += zip(range(at, position), range(new_at, new_position), strict=True)
        elif before and after:
            head, tail = common_ends(before, after)
            inner, new_inner = before[head : len(before) - tail], after[head : len(after) - tail]
            size = len(inner) * len(new_inner)
            pairs += [(at + index, new_at + index) for index in range(head)]
            if size <= max_pairs:
                max_pairs -= size
                pairs += [(at + head + item, new_at + head + other) for item, other in _equal_pairs(inner, new_inner)]
            pairs += [(position - index, new_position - index) for index in range(tail, 0, -1)]
        if position < len(old) and new_position < len(new):
            pairs.append((position, new_position))
        at, new_at = position + 1, new_position + 1
    return pairs


def _unique_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the positions of the longest series of items that occur once on both sides, in the order of both."""
    once, once_in_new = ({item for item, count in Counter(side).items() if count == 1} for side in (old, new))
    unique = once & once_in_new
    if not unique:
        return []
    positions = {item: index for index, item in enumerate(new) if item in unique}
    common = [(index, positions[item]) for index, item in enumerate(old) if item in unique]
    # `ends` contains the last item of the best series of each length, `lowest` its position in `new`.
    ends, lowest, previous = list[int](), list[int](), list[int]()
    for number, (_, new_index) in enumerate(common):
        length = bisect_left(lowest, new_index)
        previous.append(ends[length - 1] if length else -1)
        ends[length : length + 1] = [number]
        lowest[length : length + 1] = [new_index]
    series, number = list[tuple[int, int]](), ends[-1] if ends else -1
    while number >= 0:
        series.append(common[number])
        number = previous[number]
    return series[::-1]


def _equal_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the positions of the items of a longest common subsequence."""
    if len(old) > len(new):  # Long rows would make the table of positions large.
        return [(index, new_index) for new_index, index in _equal_pairs(new, old)]
    positions: dict[Hashable, int] = {}
    for index, item in enumerate(old):
        positions[item] = positions.get(item, 0) | 1 << index
    # Bit n of a row is 0 if the item n of `old` makes the common subsequence with the start of `new` longer.
    every = (1 << len(old)) - 1
    rows = [every]
    for item in new:
        row = rows[-1]
        equal = row & positions.get(item, 0)
        rows.append((row + equal | row - equal) & every)
    pairs = []
    index, new_index = len(old) - 1, len(new)
    while index >= 0 and new_index:
        if rows[new_index] >> index & 1:
            index -= 1
        elif not rows[new_index - 1] >> index & 1:
            new_index -= 1
        else:
            new_index -= 1
            pairs.append((index, new_index))
            index -= 1
    return pairs[::-1]
