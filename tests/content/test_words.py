"""Words as search compares them."""

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
    def test_case_accents_and_compatible_forms_are_gone(self, text: str, folded: str) -> None:
        assert fold(text) == folded


class TestSplitting:
    def test_whatever_is_no_letter_or_digit_parts_words(self) -> None:
        assert words("snake_case kebab-case v1.2, it's") == ["snake", "case", "kebab", "case", "v1", "2", "it", "s"]

    def test_scripts_without_spaces_become_pairs_and_an_end(self) -> None:
        assert words("x日本語y") == ["x", "日本", "本語", "語", "y"]

    def test_a_question_has_no_ends_but_single_characters(self) -> None:
        assert query_terms("日本語 語") == ["日本", "本語", "語"]

    def test_what_nobody_types_is_left_out(self) -> None:
        assert words("a " + "x" * (MAX_TERM_CHARACTERS + 1)) == ["a"]

    def test_all_that_is_asked_for_stands_in_what_is_stored(self) -> None:
        for text in ("東京の天気", "ภาษาไทย", "한국어", "naïve"):
            assert set(query_terms(text)) <= set(words(text))


class TestTermSpans:
    def test_each_written_word_tells_where_it_stands(self) -> None:
        assert [(p.start, p.end, p.terms) for p in term_spans("Un café")] == [(0, 2, ("un",)), (3, 7, ("cafe",))]
