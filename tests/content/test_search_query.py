"""Tests of the parser of search queries."""

import random

import pytest

from app.content.search_query import MAX_TERMS, ParsedQuery, Term, TermField, parse


class TestParse:
    @pytest.mark.parametrize(
        ("text", "terms"),
        [
            ("Post 1234", [Term(("post",), "post"), Term(("1234",), "1234")]),
            ("thy*", [Term(("thy",), "thy", is_prefix=True)]),
            ('"two words"', [Term(("two", "words"), "two words")]),
            ('"two wor"*', [Term(("two", "wor"), "two wor", is_prefix=True)]),
            ("w* wo*", [Term(("w",), "w"), Term(("wo",), "wo")]),
            ("학* ти*", [Term(("학",), "학", is_prefix=True), Term(("ти",), "ти", is_prefix=True)]),
            (
                "one* two* three*",
                [
                    Term(("one",), "one", is_prefix=True),
                    Term(("two",), "two", is_prefix=True),
                    Term(("three",), "three"),
                ],
            ),
            ("path:content/posts", [Term((), "content/posts", TermField.PATH)]),
            ("draft:true", [Term(("=draft=true",), "true", TermField.FIELD)]),
            ("og-title:x", [Term(("=og_title=x",), "x", TermField.FIELD)]),
            ("語", [Term(("語",), "語", is_prefix=True)]),
            ("12:30", [Term(("12", "30"), "12:30")]),
            ("https://x.org", [Term(("https", "x", "org"), "https://x.org")]),
            ("same same", [Term(("same",), "same")]),
        ],
    )
    def test_parse_returns_terms_with_prefixes_and_fields(self, text: str, terms: list[Term]) -> None:
        assert parse(text) == ParsedQuery(tuple(terms))

    def test_parse_separates_types_from_terms(self) -> None:
        assert parse("a type:Markdown type:md") == ParsedQuery((Term(("a",), "a"),), ("markdown", "md"))

    @pytest.mark.parametrize("text", ["", " ", '"', "%", "*", "-", ":", '""', "🎉"])
    def test_parse_without_words_returns_an_empty_query(self, text: str) -> None:
        assert parse(text) == ParsedQuery(())

    def test_parse_returns_at_most_eight_terms(self) -> None:
        assert len(parse(" ".join(f"w{n}" for n in range(50))).terms) == MAX_TERMS

    def test_parse_of_any_text_returns_terms_without_query_syntax(self) -> None:
        dice = random.Random(5)
        for _ in range(3_000):
            text = "".join(dice.choices("ab:\"*\\'()&|!<->{}^=~ \t\0éß日語_.-", k=dice.randint(0, 24)))
            for term in parse(text).terms:
                assert all(character.isalnum() or character in "_=" for word in term.tokens for character in word)
