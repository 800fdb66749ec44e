"""Tests of the comparison of two edits of one text."""

from hypothesis import given
from hypothesis import strategies as st

from app.content.three_way import compare, merge

TEXT = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=8).map("".join)


def test_separate_edits_merge_without_a_conflict() -> None:
    parts = compare("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
    assert not any(part.is_conflict for part in parts)
    assert merge(parts) == "A\nb\nC\n"


def test_edits_of_one_line_conflict_and_merge_by_choice() -> None:
    parts = compare("a\nb\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n")
    assert [(part.base, part.mine, part.theirs) for part in parts if part.is_conflict] == [
        ("b\n", "mine\n", "theirs\n")
    ]
    assert merge(parts, ["theirs"]) == "a\ntheirs\nc\n"
    assert merge(parts) == "a\nmine\nc\n"


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
