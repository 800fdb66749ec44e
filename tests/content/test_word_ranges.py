"""Tests of the changed words of two lines."""

from app.content.word_ranges import MAX_TOKENS, changed_ranges


def parts(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = changed_ranges(before, after)
    return [before[start:end] for start, end in old], [after[start:end] for start, end in new]


class TestChangedRanges:
    def test_changed_word_is_the_only_range(self) -> None:
        assert parts("a big house", "a small house") == (["big"], ["small"])

    def test_added_and_removed_words_have_a_range_on_one_side(self) -> None:
        assert parts("title: Hello", "title: Hello again") == ([], [" again"])
        assert parts("one, two, three", "one, three") == ([" two,"], []) or parts("one, two, three", "one, three") == (
            ["two, "],
            [],
        )

    def test_positions_count_characters(self) -> None:
        assert parts("Füße und 日本 hier", "Füße und 中国 hier") == (["日本"], ["中国"])

    def test_different_lines_and_long_lines_have_no_ranges(self) -> None:
        assert changed_ranges("alpha beta", "something else entirely new") == ([], [])
        assert changed_ranges("a " * MAX_TOKENS, "b " * MAX_TOKENS) == ([], [])
        assert changed_ranges("", "text") == ([], [])
