"""Tests of the form and checksum of API tokens."""

import pytest

from app.security.secrets import ALPHABET, checksum, hint_of, is_api_token, new_api_token


class TestForm:
    def test_new_token_has_the_form_and_is_unique(self) -> None:
        tokens = {new_api_token() for _ in range(100)}
        assert len(tokens) == 100
        assert all(is_api_token(token) and len(token) == 54 and token.startswith("glly_") for token in tokens)
        assert all(hint_of(token) == token[-4:] for token in tokens)

    def test_token_with_a_changed_character_is_invalid(self) -> None:
        token = new_api_token()
        changed = [
            token[:position] + ALPHABET[(ALPHABET.index(token[position]) + 1) % 62] + token[position + 1 :]
            for position in range(5, len(token))
        ]
        assert not any(map(is_api_token, changed))

    @pytest.mark.parametrize("text", ["", "glly_", "x" * 54, "glly_" + "é" * 49, "glly_" + "0" * 49])
    def test_other_text_is_not_a_token(self, text: str) -> None:
        assert not is_api_token(text)

    def test_checksum_is_fixed(self) -> None:
        assert checksum("123456789") == "3jZRME"  # CRC-32 of the usual check text is 0xCBF43926.
        assert checksum("") == "000000"
