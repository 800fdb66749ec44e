"""Tests of the set of combining marks."""

import re
import sys
import unicodedata

from app.content.text import marks, term_pattern


def test_set_contains_exactly_the_marks_of_unicode() -> None:
    expression = re.compile(f"[{marks()}]")
    every = (chr(code) for code in range(sys.maxunicode + 1))
    different = [c for c in every if (unicodedata.category(c)[0] == "M") != bool(expression.fullmatch(c))]
    assert different == []


def test_words_start_with_a_letter_or_digit() -> None:
    assert term_pattern().findall("a\u0301_b \u0301 2\u20e3") == ["a\u0301", "b", "2\u20e3"]
