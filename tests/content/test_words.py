"""Tests of the normalization of search words."""

import pytest

from app.content.words import MAX_TERM_CHARACTERS, fold, query_terms, term_spans, words

MARKED = [
    ("हिन्दी में जानकारी", ["हिन्दी", "में", "जानकारी"]),
    ("বাংলা তথ্য", ["বাংলা", "তথ্য"]),
    ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
    ("മലയാളം", ["മലയാളം"]),
    ("ጤና ይስጥልኝ", ["ጤና", "ይስጥልኝ"]),
    ("یونی‌کد", ["یونیکد"]),
    ("شَاي أَخضَر", ["شاي", "أخضر"]),
    ("שָׁלוֹם", ["שלום"]),
    ("क्‍ष ❤\ufe0f", ["क्ष"]),
]


class TestFold:
    @pytest.mark.parametrize(
        ("text", "folded"),
        [
            ("Café", "cafe"),
            ("cafe\u0301", "cafe"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("ﬁn", "fin"),
            ("が", "が"),
        ],
    )
    def test_fold_removes_case_accents_and_compatible_forms(self, text: str, folded: str) -> None:
        assert fold(text) == folded


class TestSplitting:
    def test_words_are_separated_by_other_characters(self) -> None:
        assert words("snake_case kebab-case v1.2, it's") == ["snake", "case", "kebab", "case", "v1", "2", "it", "s"]

    def test_words_of_scripts_without_spaces_are_pairs_and_the_last_character(self) -> None:
        assert words("x日本語y") == ["x", "日本", "本語", "語", "y"]

    def test_query_terms_contain_no_last_character_except_single_characters(self) -> None:
        assert query_terms("日本語") == ["日本", "本語"]
        assert query_terms("語") == ["語"]

    @pytest.mark.parametrize("part", ["日本語", "語x", "本語x", "x", "日本語x です", "です"])
    def test_query_terms_are_consecutive_stored_words(self, part: str) -> None:
        stored, query = words("日本語x です。"), query_terms(part)
        assert query in [stored[start : start + len(query)] for start in range(len(stored))]

    @pytest.mark.parametrize(("text", "expected"), MARKED)
    def test_words_have_their_marks_without_those_that_are_optional(self, text: str, expected: list[str]) -> None:
        assert words(text) == query_terms(text) == expected

    def test_words_above_the_length_limit_are_ignored(self) -> None:
        assert words("a " + "x" * (MAX_TERM_CHARACTERS + 1)) == ["a"]

    def test_query_terms_are_a_subset_of_the_stored_words(self) -> None:
        for text in ("東京の天気", "ภาษาไทย", "한국어", "naïve", "日本語 語", *(text for text, _ in MARKED)):
            assert set(query_terms(text)) <= set(words(text))


class TestTermSpans:
    def test_term_spans_have_the_position_of_each_word(self) -> None:
        assert [(p.start, p.end, p.terms) for p in term_spans("Un café")] == [(0, 2, ("un",)), (3, 7, ("cafe",))]
