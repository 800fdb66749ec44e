"""Tests of changes between sequences."""

import random
from functools import cache
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.content.sequence_diff import MAX_PAIRS, RangeChange, equal_parts, find_changes

ITEMS = st.text("abc", max_size=9)


def common_length(old: str, new: str) -> int:
    """Return the length of a longest common subsequence by its definition."""

    @cache
    def length(i: int, j: int) -> int:
        if i == len(old) or j == len(new):
            return 0
        return max(length(i + 1, j), length(i, j + 1), (1 + length(i + 1, j + 1)) * (old[i] == new[j]))

    return length(0, 0)


class TestChanges:
    @given(ITEMS, ITEMS)
    def test_changes_lead_to_the_new_sequence_and_keep_the_longest_common_one(self, old: str, new: str) -> None:
        steps = find_changes(old, new)
        result = "".join(new[step.new_start : step.new_end] for step in steps)
        parts = [(old[part.start : part.stop], new[at : at + len(part)]) for part, at in equal_parts(steps, len(old))]
        assert all(before == after for before, after in parts)
        assert sum(len(before) for before, _ in parts) == common_length(old, new)
        assert len(result) + common_length(old, new) == len(new)
        assert all(one.end < other.start for one, other in pairwise(steps))

    def test_part_between_common_ends_is_one_change_above_the_limit(self) -> None:
        assert find_changes("abxcd", "abycxd", max_pairs=5) == [RangeChange(2, 4, 2, 5)]
        assert find_changes("abxcd", "abycxd", max_pairs=6) != [RangeChange(2, 4, 2, 5)]

    def test_large_sequences_without_order_are_one_change(self) -> None:
        dice = random.Random(1)
        old, new = ([dice.choice("ab") for _ in range(MAX_PAIRS // 4_000)] for _ in range(2))
        assert len(find_changes(old, new)) == 1
