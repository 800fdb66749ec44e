"""Regular expressions of schema files."""

import random
import re

import pytest

from app.content.schema.text_patterns import UNITS_PER_COUNT, UnsupportedPattern, text_pattern

PARTS = ("a", "b", "1", ".", "-", "*", "+", "?", "(", ")", "[ab]", "[^a]", "|", "^", "$", r"\d", r"\w", "{2}", "{1,2}")
SPACES = "\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def matches(expression: str, text: str) -> bool:
    return text_pattern(expression).matches(text, lambda number: None)


class TestTextPattern:
    @pytest.mark.parametrize(
        ("expression", "texts", "others"),
        [
            (".{3,}", ["abc", "abcd"], ["ab", ""]),
            ("^[a-z0-9-]+$", ["a-1"], ["A", "a b", "", "a\n"]),
            (r"^https?:\/\/[^\s/]+(/\S*)?$", ["https://a.b/c"], ["ftp://a", "https://"]),
            (r"^\S+@\S+\.\S{2,}$", ["a@b.cd"], ["a@b"]),
            ("^$|^a$", ["", "a"], ["b"]),
            (r"^(?:\u00e9|\x41|[\w-]{2}){1,2}$", ["é", "Aé", "a-é"], ["b"]),
            ("^a{,2}$", ["a{,2}"], ["a"]),
            ("^a.b$", ["a b", "a\x85b", "a😀b"], ["a\nb", "a\rb", "a\u2028b"]),
            (r"^\s$", list(SPACES), ["", "a", "\u200b", "\x85"]),
            (r"^[\s-]$", [*SPACES, "-"], ["a"]),
            (r"^\S$", ["a", "\u200b"], list(SPACES)),
            (r"^[^\s.]$", ["a"], [*SPACES, "."]),
            (r"^[\s\S]$", [*SPACES, "a"], [""]),
            (r"^[[\]]$", ["[", "]"], ["a"]),
            ("^[[:alpha:]]$", ["a]", ":]"], ["a", "b"]),
            (r"^[\b]$", ["\b"], ["b"]),
            ("[^]", ["a", "\n"], [""]),
            ("[]", [], ["a", ""]),
            (r"\bcat\b", ["a cat"], ["cats"]),
            ("^(?<year>[0-9]{4})$", ["2026"], ["26"]),
            ("^.\ud800$", ["\ud800\ud800"], ["a"]),
        ],
    )
    def test_expression_matches_its_texts(self, expression: str, texts: list[str], others: list[str]) -> None:
        assert [matches(expression, text) for text in (*texts, *others)] == [True] * len(texts) + [False] * len(others)

    @pytest.mark.parametrize(
        "expression",
        [
            "(",
            ")",
            "[a",
            "[a.",
            "*a",
            "a**",
            "a{3,2}",
            "[b-a]",
            r"(a)\1",
            r"\pL",
            r"\Aa",
            r"\Qa",
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            "(?i)a",
            "(?P<n>a)",
            "\\",
            "[\\",
            r"\ud83d[\ude00-\ude4f]",
            "(a{200}){200}",
            ".{1000}",
        ],
    )
    def test_other_expression_is_refused(self, expression: str) -> None:
        with pytest.raises(UnsupportedPattern, match=r"^\S+ \S+"):
            text_pattern(expression)

    def test_random_expressions_match_like_those_of_python(self) -> None:
        dice, compared = random.Random(3), 0
        while compared < 3_000:
            expression = "".join(dice.choice(PARTS) for _ in range(dice.randint(1, 7)))
            text = "".join(dice.choice("ab1.-") for _ in range(dice.randint(0, 6)))
            try:
                expected = re.search(expression, text) is not None
                assert matches(expression, text) is expected, (expression, text)
                compared += 1
            except (re.error, UnsupportedPattern):
                continue

    @pytest.mark.parametrize("expression", ["^((a+)+)+$", "^(a|aa|a?){9}$", "(a*)*b", "^(.*a){9}$"])
    def test_counted_effort_is_linear(self, expression: str) -> None:
        numbers, pattern = list[int](), text_pattern(expression)
        for length in (UNITS_PER_COUNT, 10 * UNITS_PER_COUNT):
            pattern.matches("a" * length, numbers.append)
        assert numbers == [1 + pattern.size, 1 + 10 * pattern.size]
