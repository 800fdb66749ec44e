"""Tests of the changed words of two lines."""

from app.content.unified_diff import InlineDiff


def parts(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = InlineDiff().changed_ranges(before, after)
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

    def test_word_with_marks_is_one_range(self) -> None:
        assert InlineDiff().changed_ranges("हिन्दी में जानकारी", "हिन्दी में जानकारियाँ") == ([(11, 18)], [(11, 21)])

    def test_positions_count_characters(self) -> None:
        assert parts("Füße und 日本 hier", "Füße und 中国 hier") == (["日本"], ["中国"])

    def test_different_lines_have_no_ranges(self) -> None:
        assert parts("alpha beta", "something else entirely new") == ([], [])
        assert parts("", "text") == ([], [])

    def test_lines_after_the_limit_have_no_ranges(self) -> None:
        inline = InlineDiff(max_tokens=15)
        lines = "a big house", "a small house"
        assert [inline.changed_ranges(*lines) for _ in range(3)] == [([(2, 5)], [(2, 7)]), ([], []), ([], [])]
        assert inline.is_truncated
