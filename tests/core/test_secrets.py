"""Tokens, codes and encryption at rest."""

import os
import re

import pytest

from app.core.secrets import Keyring, TamperedSecret, hash_token, new_code, new_token

OLD, NEW = ("2025", os.urandom(32)), ("2026", os.urandom(32))
PLACE = "git_credential:cred_1:access_token"


class TestTokens:
    def test_a_token_has_256_bits_and_fits_a_url(self) -> None:
        assert re.fullmatch(r"[A-Za-z0-9_-]{43}", new_token())

    def test_no_two_tokens_are_the_same(self) -> None:
        assert len({new_token() for _ in range(1000)}) == 1000

    def test_a_hash_is_sha_256_in_hex(self) -> None:
        assert hash_token("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    def test_a_token_no_browser_sends_is_hashed_and_not_an_error(self) -> None:
        assert len(hash_token("\ud800")) == 64


class TestCodes:
    def test_a_code_always_has_six_digits(self) -> None:
        codes = [new_code() for _ in range(2000)]
        assert all(re.fullmatch(r"[0-9]{6}", code) for code in codes)

    def test_codes_below_a_hundred_thousand_keep_their_zeros(self) -> None:
        assert any(new_code().startswith("0") for _ in range(500))


class TestKeyring:
    def test_what_was_encrypted_decrypts_at_its_place(self) -> None:
        ring = Keyring([NEW])
        assert ring.decrypt(ring.encrypt("gho_töken", aad=PLACE), aad=PLACE) == "gho_töken"

    def test_the_same_text_never_encrypts_to_the_same(self) -> None:
        ring = Keyring([NEW])
        assert ring.encrypt("x", aad=PLACE) != ring.encrypt("x", aad=PLACE)

    def test_the_stored_form_shows_the_key_id_and_nothing_of_the_text(self) -> None:
        stored = Keyring([NEW]).encrypt("gho_token", aad=PLACE)
        assert stored.startswith("2026:")
        assert "gho_token" not in stored

    def test_a_ciphertext_copied_to_another_row_does_not_decrypt(self) -> None:
        ring = Keyring([NEW])
        stored = ring.encrypt("x", aad=PLACE)
        with pytest.raises(TamperedSecret):
            ring.decrypt(stored, aad="git_credential:cred_2:access_token")

    @pytest.mark.parametrize("position", [5, 20, -6])
    def test_a_changed_ciphertext_does_not_decrypt(self, position: int) -> None:
        ring = Keyring([NEW])
        stored = list(ring.encrypt("some longer text", aad=PLACE))
        stored[position] = "A" if stored[position] != "A" else "B"
        with pytest.raises(TamperedSecret):
            ring.decrypt("".join(stored), aad=PLACE)

    @pytest.mark.parametrize("stored", ["", "2026:", "2026:AAAA", "2026:%%%", "nothing", "2026:ü"])
    def test_what_is_no_ciphertext_is_tampered_with(self, stored: str) -> None:
        with pytest.raises(TamperedSecret):
            Keyring([NEW]).decrypt(stored, aad=PLACE)

    def test_after_a_rotation_the_old_key_still_decrypts(self) -> None:
        stored = Keyring([OLD]).encrypt("x", aad=PLACE)
        assert Keyring([NEW, OLD]).decrypt(stored, aad=PLACE) == "x"

    def test_only_what_the_first_key_did_not_encrypt_needs_rotation(self) -> None:
        ring = Keyring([NEW, OLD])
        assert ring.needs_rotation(Keyring([OLD]).encrypt("x", aad=PLACE))
        assert not ring.needs_rotation(ring.encrypt("x", aad=PLACE))

    def test_a_key_taken_out_of_the_ring_no_longer_decrypts(self) -> None:
        stored = Keyring([OLD]).encrypt("x", aad=PLACE)
        with pytest.raises(TamperedSecret):
            Keyring([NEW]).decrypt(stored, aad=PLACE)

    def test_a_ring_without_keys_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least one key"):
            Keyring([])
