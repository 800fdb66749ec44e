"""Tests of hunks of unified diffs."""

from app.content.unified_diff import MAX_CHARACTERS, MAX_LINE_CHARACTERS, MAX_LINES, parse_hunks

DIFF = """@@ -1,3 +1,4 @@ def first():
 same
-one two three
+one four three
+added
 last
\\ No newline at end of file
@@ -20 +21,0 @@
--- a line of the file
"""


class TestParseHunks:
    def test_lines_have_types_numbers_and_ranges(self) -> None:
        (first, second), *limits = parse_hunks(DIFF)
        assert limits == [False, False]
        assert (first.old_start, first.old_lines, first.new_start, first.new_lines) == (1, 3, 1, 4)
        assert first.section == "def first():"
        assert [(line.type, line.text, line.old_line, line.new_line) for line in first.lines] == [
            ("context", "same", 1, 1),
            ("removed", "one two three", 2, None),
            ("added", "one four three", None, 2),
            ("added", "added", None, 3),
            ("context", "last", 3, 4),
        ]
        assert [line.ranges for line in first.lines] == [[], [(4, 7)], [(4, 8)], [], []]
        assert [line.has_newline for line in first.lines] == [True, True, True, True, False]
        assert (second.old_lines, second.new_lines, second.lines[0].text) == (1, 0, "-- a line of the file")

    def test_empty_diff_has_no_hunks(self) -> None:
        assert parse_hunks("") == ([], False, False)

    def test_long_diffs_and_lines_are_truncated(self) -> None:
        hunks, truncated, _ = parse_hunks("@@ -0,0 +1,6000 @@\n" + "+x\n" * 6000)
        assert (len(hunks[0].lines), truncated) == (MAX_LINES - 1, True)
        hunks, truncated, _ = parse_hunks("@@ -0,0 +1 @@\n+" + "x" * 9000)
        assert (len(hunks[0].lines[0].text), truncated) == (MAX_LINE_CHARACTERS, True)
        hunks, truncated, _ = parse_hunks("@@ -0,0 +1,1000 @@\n" + f"+{'x' * 999}\n" * 1000)
        assert (len(hunks[0].lines), truncated) == (MAX_CHARACTERS // 1000 - 1, True)

    def test_words_of_long_diffs_are_marked_in_their_first_part(self) -> None:
        lines = 1_500
        old, new = (f"{sign}{'a b ' * 8}{word}\n" for sign, word in (("-", "old"), ("+", "new")))
        hunks, truncated, ranges_truncated = parse_hunks(f"@@ -1,{lines} +1,{lines} @@\n" + (old + new) * lines)
        marked = [bool(line.ranges) for line in hunks[0].lines]
        assert (truncated, ranges_truncated) == (False, True)
        assert (marked[0], marked[-1], marked == sorted(marked, reverse=True)) == (True, False, True)
        assert sum(marked) > 1_000
