"""Tests of the estimate of tokens against the counts of a real vocabulary."""

import random
import time
from pathlib import Path

import pytest

from app.drivers.ai.tokens import ERROR, ReceivedTokens, estimate_tokens

TEXTS = Path(__file__).parents[2] / "support" / "samples" / "token_texts"
# Counted with o200k_base (npm gpt-tokenizer 4.0.0).
REFERENCE = {
    "english": 186,
    "english-technical": 208,
    "german": 210,
    "german-technical": 225,
    "chinese": 250,
    "chinese-technical": 220,
    "python": 315,
    "javascript": 329,
    "html": 287,
    "yaml-front-matter": 156,
}
OTHER_LANGUAGES = {"arabic": 96, "hindi": 105, "japanese": 176, "korean": 130, "russian": 130, "thai": 112}
UNITS = ["a", "Z", "0", " ", "\n", "{", "ü", "я", "茶", "가", "🫖", "\u0300", "\ud800", "aA", "a ", "\n ", "{a"]


def sample(name: str) -> str:
    return (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


class TestEstimate:
    @pytest.mark.parametrize(("name", "tokens"), REFERENCE.items())
    def test_estimate_differs_at_most_by_the_stated_error(self, name: str, tokens: int) -> None:
        assert estimate_tokens(sample(name)) == pytest.approx(tokens, rel=ERROR)

    @pytest.mark.parametrize(("name", "tokens"), OTHER_LANGUAGES.items())
    def test_estimate_of_other_languages_differs_at_most_by_half(self, name: str, tokens: int) -> None:
        assert estimate_tokens(sample(name)) == pytest.approx(tokens, rel=0.5)

    def test_estimate_of_no_text_is_zero_and_of_any_text_is_positive(self) -> None:
        assert estimate_tokens("") == 0
        assert [estimate_tokens(unit) for unit in UNITS] == [pytest.approx(1, abs=1)] * len(UNITS)
        assert min(estimate_tokens(unit) for unit in UNITS) == 1

    @pytest.mark.parametrize("unit", UNITS)
    def test_cpu_time_is_linear(self, unit: str) -> None:
        """The largest request has 1 MiB. A quadratic expression needs hours."""
        start = time.process_time()
        assert estimate_tokens(unit * (1_000_000 // len(unit))) > 10_000
        assert time.process_time() - start < 5


class TestReceivedTokens:
    @pytest.mark.parametrize("name", REFERENCE)
    def test_count_does_not_depend_on_the_pieces(self, name: str) -> None:
        text, received, chance = sample(name) * 40, ReceivedTokens(), random.Random(3)
        start = 0
        while start < len(text):
            end = start + chance.randint(1, 9)
            received.add(text[start:end])
            start = end
        assert received.count == pytest.approx(estimate_tokens(text), rel=0.01)
