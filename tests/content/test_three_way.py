"""Tests of the comparison of two edits of one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.three_way import MAX_CONFLICTS, compare, merge

TEXT = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=8).map("".join)


def test_separate_edits_merge_without_a_conflict() -> None:
    parts = compare("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
    assert not any(part.is_conflict for part in parts)
    assert merge(parts) == "A\nb\nC\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x0c\n", "\u2028\n"])
def test_edits_of_one_line_conflict_and_merge_by_choice(end: str) -> None:
    base, mine, theirs = (text.replace("\n", end) for text in ("a\nb\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n"))
    parts = compare(base, mine, theirs)
    assert [(part.base, part.mine, part.theirs) for part in parts if part.is_conflict] == [
        (f"b{end}", f"mine{end}", f"theirs{end}")
    ]
    assert merge(parts, ["theirs"]) == theirs
    assert merge(parts, ["both"]) == f"a{end}mine{end}theirs{end}c{end}"
    assert merge(parts) == mine


def test_final_line_feed_belongs_to_the_last_line() -> None:
    assert merge(compare("a\nb\nc", "A\nb\nc", "a\nb\nc\n")) == "A\nb\nc\n"
    [conflict] = [part for part in compare("a\nb", "a\nmine", "a\nb\n") if part.is_conflict]
    assert (conflict.base, conflict.mine, conflict.theirs) == ("b", "mine", "b\n")


def test_many_conflicts_are_joined_to_one() -> None:
    base, mine, theirs = ("".join(f"{text}{n % 2 * n}\nsame\n" for n in range(4 * MAX_CONFLICTS)) for text in "bmt")
    parts = compare(base, mine, theirs)
    conflicts = [part for part in parts if part.is_conflict]
    assert len(conflicts) == MAX_CONFLICTS
    assert ("".join(part.mine for part in parts), "".join(part.theirs for part in parts)) == (mine, theirs)


@given(TEXT, TEXT, TEXT)
def test_parts_contain_each_text_completely(base: str, mine: str, theirs: str) -> None:
    parts = compare(base, mine, theirs)
    assert "".join(part.mine for part in parts) == mine
    assert "".join(part.theirs for part in parts) == theirs
    assert "".join(part.base for part in parts) == base
    if theirs == base:
        assert merge(parts) == mine
    if mine == base:
        assert merge(parts) == theirs
