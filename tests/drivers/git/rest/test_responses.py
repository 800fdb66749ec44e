"""Tests of the messages of a host in error sentences."""

import pytest

from app.drivers.git.rest.responses import error_sentence, quotable
from app.drivers.http.client import HttpResponse

SECRETS = ["ghu_16C7e42F292c6912E7710c838347Ae178B4a", "glpat-abcDEF-12345678901234", "5f" * 32, "github_pat_11ABC_x9"]


class TestQuotable:
    @pytest.mark.parametrize("secret", SECRETS)
    def test_error_sentence_omits_possible_secrets(self, secret: str) -> None:
        sentence = error_sentence(
            HttpResponse(
                422, {}, f'{{"message": "Bad token {secret}", "errors": [{{"message": "{secret}"}}]}}'.encode()
            )
        )
        assert secret not in sentence
        assert sentence.startswith("Bad token …")

    @pytest.mark.parametrize(
        "text", ["A file with this name already exists: content/posts/2026-11-20-a-rather-long-name.md", "Not Found"]
    )
    def test_quotable_keeps_ordinary_text(self, text: str) -> None:
        assert quotable(text) == text

    @pytest.mark.parametrize(
        ("message", "sentence"),
        [
            (
                b'{"base": ["You cannot use the same branch", "Try another"]}',
                "You cannot use the same branch; Try another",
            ),
            (b'{"title": ["can\'t be blank"]}', "title can't be blank"),
            (b'["Another open merge request already exists"]', "Another open merge request already exists"),
            (b"{}", ""),
        ],
    )
    def test_error_sentence_contains_the_messages_of_fields(self, message: bytes, sentence: str) -> None:
        assert error_sentence(HttpResponse(422, {}, b'{"message": %s}' % message)) == sentence

    def test_quotable_is_one_line_with_a_maximum_length(self) -> None:
        assert quotable("a\n b\t" + "word " * 100).startswith("a b word")
        assert len(quotable("word " * 100)) == 300
