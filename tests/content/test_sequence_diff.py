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

    def test_change_with_several_positions_is_at_the_last_one(self) -> None:
        assert find_changes("ap_q", "bp_x_q") == [RangeChange(0, 1, 0, 1), RangeChange(3, 3, 3, 5)]
        assert find_changes("bp_x_q", "ap_q") == [RangeChange(0, 1, 0, 1), RangeChange(3, 5, 3, 3)]

    def test_part_without_unique_items_is_one_change_above_the_limit(self) -> None:
        assert find_changes("aaxxcd", "aayxxyycd", max_pairs=9) == [RangeChange(2, 4, 2, 7)]
        assert len(find_changes("aaxxcd", "aayxxyycd", max_pairs=10)) == 2

    def test_unique_items_divide_sequences_above_the_limit(self) -> None:
        old = [f"{n}" if n % 2 else "" for n in range(20_000)]
        new = ["first", *old[:9_000], "middle", *old[9_000:]]
        new[15_000] = "changed"
        assert [change.new_start for change in find_changes(old, new)] == [0, 9_001, 15_000]

    @given(ITEMS, ITEMS, st.integers(0, 9))
    def test_changes_within_any_limit_lead_to_the_new_sequence(self, old: str, new: str, max_pairs: int) -> None:
        steps = find_changes(old, new, max_pairs=max_pairs)
        parts = list(equal_parts(steps, len(old)))
        assert all(old[part.start : part.stop] == new[at : at + len(part)] for part, at in parts)
        changed = sum(step.new_end - step.new_start for step in steps)
        assert changed + sum(len(part) for part, _ in parts) == len(new)
        assert all(one.end < other.start for one, other in pairwise(steps))

    def test_large_sequences_without_order_are_one_change(self) -> None:
        dice = random.Random(1)
        old, new = ([dice.choice("ab") for _ in range(MAX_PAIRS // 4_000)] for _ in range(2))
        assert len(find_changes(old, new)) == 1
