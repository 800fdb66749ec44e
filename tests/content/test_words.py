"""Tests of the normalization of search words."""

import pytest

from app.content.words import MAX_TERM_CHARACTERS, fold, query_terms, term_spans, words


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
        assert query_terms("日本語 語") == ["日本", "本語", "語"]

    def test_words_above_the_length_limit_are_ignored(self) -> None:
        assert words("a " + "x" * (MAX_TERM_CHARACTERS + 1)) == ["a"]

    def test_query_terms_are_a_subset_of_the_stored_words(self) -> None:
        for text in ("東京の天気", "ภาษาไทย", "한국어", "naïve"):
            assert set(query_terms(text)) <= set(words(text))


class TestTermSpans:
    def test_term_spans_have_the_position_of_each_word(self) -> None:
        assert [(p.start, p.end, p.terms) for p in term_spans("Un café")] == [(0, 2, ("un",)), (3, 7, ("cafe",))]
