"""Tests of tokens, codes and encryption at rest."""

import base64
import os
import re
from collections.abc import Iterator

import pytest

from app.security.secrets import NONCE_BYTES, Keyring, TamperedSecret, hash_token, new_code, new_token

OLD, NEW = ("2025", os.urandom(32)), ("2026", os.urandom(32))
PLACE = "git_credential:cred_1:access_token"


class TestTokens:
    def test_token_has_256_bits_and_url_safe_characters(self) -> None:
        assert re.fullmatch(r"[A-Za-z0-9_-]{43}", new_token())

    def test_tokens_are_unique(self) -> None:
        assert len({new_token() for _ in range(1000)}) == 1000

    def test_token_hash_is_sha_256_in_hex(self) -> None:
        assert hash_token("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    def test_token_with_a_surrogate_is_hashed(self) -> None:
        assert len(hash_token("\ud800")) == 64


class TestCodes:
    def test_code_has_six_digits(self) -> None:
        codes = [new_code() for _ in range(2000)]
        assert all(re.fullmatch(r"[0-9]{6}", code) for code in codes)

    def test_code_below_100000_has_leading_zeros(self) -> None:
        assert any(new_code().startswith("0") for _ in range(500))


class TestKeyring:
    def test_encrypted_text_is_decrypted_with_equal_additional_data(self) -> None:
        ring = Keyring([NEW])
        assert ring.decrypt(ring.encrypt("gho_töken", aad=PLACE), aad=PLACE) == "gho_töken"

    def test_equal_texts_have_different_ciphertexts(self) -> None:
        ring = Keyring([NEW])
        assert ring.encrypt("x", aad=PLACE) != ring.encrypt("x", aad=PLACE)

    def test_ciphertext_contains_the_key_id_and_not_the_text(self) -> None:
        stored = Keyring([NEW]).encrypt("gho_token", aad=PLACE)
        assert stored.startswith("2026:")
        assert "gho_token" not in stored

    def test_ciphertext_of_another_row_raises_tampered_secret(self) -> None:
        ring = Keyring([NEW])
        stored = ring.encrypt("x", aad=PLACE)
        with pytest.raises(TamperedSecret):
            ring.decrypt(stored, aad="git_credential:cred_2:access_token")

    @pytest.mark.parametrize("position", [5, 20, -6])
    def test_changed_ciphertext_raises_tampered_secret(self, position: int) -> None:
        ring = Keyring([NEW])
        stored = list(ring.encrypt("some longer text", aad=PLACE))
        stored[position] = "A" if stored[position] != "A" else "B"
        with pytest.raises(TamperedSecret):
            ring.decrypt("".join(stored), aad=PLACE)

    @pytest.mark.parametrize("stored", ["", "2026:", "2026:AAAA", "2026:%%%", "nothing", "2026:ü"])
    def test_invalid_ciphertext_raises_tampered_secret(self, stored: str) -> None:
        with pytest.raises(TamperedSecret):
            Keyring([NEW]).decrypt(stored, aad=PLACE)

    def test_ciphertext_of_an_older_key_is_decrypted(self) -> None:
        stored = Keyring([OLD]).encrypt("x", aad=PLACE)
        assert Keyring([NEW, OLD]).decrypt(stored, aad=PLACE) == "x"

    def test_ciphertext_of_an_older_key_needs_rotation(self) -> None:
        ring = Keyring([NEW, OLD])
        assert ring.needs_rotation(Keyring([OLD]).encrypt("x", aad=PLACE))
        assert not ring.needs_rotation(ring.encrypt("x", aad=PLACE))

    def test_ciphertext_of_a_removed_key_raises_tampered_secret(self) -> None:
        stored = Keyring([OLD]).encrypt("x", aad=PLACE)
        with pytest.raises(TamperedSecret):
            Keyring([NEW]).decrypt(stored, aad=PLACE)

    def test_keyring_without_keys_raises_value_error(self) -> None:
        with pytest.raises(ValueError, match="at least one key"):
            Keyring([])


TAG_BYTES = 16
TOKEN = "ghu_0123456789abcdefghijklmnopqrstuvwxyzAB"
OTHER_PLACES = (
    "",
    "git_credential:cred_2:access_token",
    "git_credential:cred_1:refresh_token",
    "git_revocation:cred_1:access_token",
    "git_credential:cred_1:access_token ",
    "git_credential:cred_1",
)


def _sealed() -> tuple[str, bytes]:
    """Return the id of a key, and the nonce, ciphertext and tag of a text that it encrypted."""
    kid, _, encoded = Keyring([NEW, OLD]).encrypt(TOKEN, aad=PLACE).partition(":")
    return kid, base64.b64decode(encoded)


def _stored(kid: str, raw: bytes) -> str:
    return f"{kid}:{base64.b64encode(raw).decode()}"


def _bytes_changed(start: int, end: int) -> Iterator[str]:
    """Yield the ciphertext with each byte of a region replaced by each other byte."""
    kid, raw = _sealed()
    for place in range(start, end if end > 0 else len(raw) + end):
        for value in range(256):
            if value != raw[place]:
                yield _stored(kid, raw[:place] + bytes([value]) + raw[place + 1 :])


def _sizes_changed() -> Iterator[str]:
    """Yield every truncation from either end, and some extensions."""
    kid, raw = _sealed()
    for cut in range(1, len(raw) + 1):
        yield _stored(kid, raw[cut:])
        yield _stored(kid, raw[:-cut])
    for more in range(1, 33):
        yield _stored(kid, raw + bytes(more))
        yield _stored(kid, bytes(more) + raw)


def _keys_changed() -> Iterator[str]:
    """Yield the ciphertext with the id of another key, with an empty id, and with each changed character of the id."""
    kid, raw = _sealed()
    for other in (OLD[0], "", "none", f"{kid} ", f" {kid}", f"{kid}:{kid}"):
        yield _stored(other, raw)
    for place in range(len(kid)):
        for code in range(32, 127):
            if chr(code) != kid[place]:
                yield _stored(kid[:place] + chr(code) + kid[place + 1 :], raw)


def _letters_changed() -> Iterator[str]:
    """Yield the encoded form with each letter replaced by each other one, also if the decoded bytes are equal."""
    kid, raw = _sealed()
    encoded = base64.b64encode(raw).decode()
    for place in range(len(encoded)):
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_ \n":
            if letter != encoded[place]:
                yield f"{kid}:{encoded[:place]}{letter}{encoded[place + 1 :]}"


class TestTampering:
    """More than 20,000 changes in every region of the ciphertext. All are refused."""

    @pytest.mark.parametrize(
        ("changed", "least"),
        [
            (_bytes_changed(0, NONCE_BYTES), NONCE_BYTES * 255),
            (_bytes_changed(NONCE_BYTES, -TAG_BYTES), len(TOKEN) * 255),
            (_bytes_changed(NONCE_BYTES + len(TOKEN), NONCE_BYTES + len(TOKEN) + TAG_BYTES), TAG_BYTES * 255),
            (_sizes_changed(), 150),
            (_keys_changed(), 300),
            (_letters_changed(), 5_000),
        ],
        ids=["nonce", "ciphertext", "tag", "length", "key id", "letters"],
    )
    def test_mutated_ciphertexts_raise_tampered_secret(self, changed: Iterator[str], least: int) -> None:
        ring, refused = Keyring([NEW, OLD]), 0
        for stored in changed:
            with pytest.raises(TamperedSecret):
                ring.decrypt(stored, aad=PLACE)
            refused += 1
        assert refused >= least

    @pytest.mark.parametrize("place", OTHER_PLACES)
    def test_other_additional_data_raises_tampered_secret(self, place: str) -> None:
        ring = Keyring([NEW, OLD])
        with pytest.raises(TamperedSecret):
            ring.decrypt(ring.encrypt(TOKEN, aad=PLACE), aad=place)
