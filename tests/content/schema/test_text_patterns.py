"""Regular expressions of schema files."""

import random
import re

import pytest

from app.content.schema.text_patterns import MAX_POSITIONS, UnsupportedPattern, text_pattern

PARTS = ("a", "b", "1", ".", "-", "*", "+", "?", "(", ")", "[ab]", "[^a]", "|", "^", "$", r"\d", r"\w", "{2}", "{1,2}")


def matches(expression: str, text: str) -> bool:
    return text_pattern(expression).matches(text, lambda number: None)


class TestTextPattern:
    @pytest.mark.parametrize(
        ("expression", "texts", "others"),
        [
            (".{3,}", ["abc", "abcd"], ["ab", ""]),
            ("^[a-z0-9-]+$", ["a-1"], ["A", "a b", ""]),
            (r"^https?://[^\s/]+(/\S*)?$", ["https://a.b/c"], ["ftp://a", "https://"]),
            (r"^\S+@\S+\.\S{2,}$", ["a@b.cd"], ["a@b"]),
            ("^$|^a$", ["", "a"], ["b"]),
            (r"^(?:\u00e9|\x41|[\w-]{2}){1,2}$", ["é", "Aé", "a-é"], ["b"]),
            ("^a{,2}$", ["a{,2}"], ["a"]),
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
            "*a",
            "a**",
            "a{3,2}",
            "[b-a]",
            r"\1",
            r"\b",
            "(?=a)",
            "(?<n>a)",
            "a$b",
            "(^a)",
            "\\",
            "(a{200}){200}",
        ],
    )
    def test_other_expression_is_refused(self, expression: str) -> None:
        with pytest.raises(UnsupportedPattern):
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
    def test_number_of_compared_positions_is_linear(self, expression: str) -> None:
        numbers = list[int]()
        text_pattern(expression).matches("a" * 5_000 + "!", numbers.append)
        assert sum(numbers) < 100 * MAX_POSITIONS
