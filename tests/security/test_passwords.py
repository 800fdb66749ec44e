"""Tests of the rules and hashes of passwords."""

import pytest
from argon2 import PasswordHasher, extract_parameters

from app.core.limits import PasswordLimits
from app.security.passwords import common_passwords, hash_password, password_error, verify_password

EMAIL = "ada.lovelace@mail.example.org"


class TestHashing:
    def test_hash_is_argon2id_with_the_costs_of_the_limits(self) -> None:
        assert hash_password("correct horse battery").startswith("$argon2id$v=19$m=19456,t=2,p=1$")

    def test_correct_password_matches(self) -> None:
        assert verify_password(hash_password("correct horse battery"), "correct horse battery")

    @pytest.mark.parametrize("wrong", ["correct horse batterY", "correct horse battery ", "", "\ud800"])
    def test_wrong_password_does_not_match(self, wrong: str) -> None:
        assert not verify_password(hash_password("correct horse battery"), wrong)

    def test_spaces_and_non_ascii_letters_are_significant(self) -> None:
        stored = hash_password(" Pässwört ")
        assert verify_password(stored, " Pässwört ")
        assert not verify_password(stored, "Pässwört")

    def test_missing_hash_matches_no_password(self) -> None:
        assert not verify_password(None, "no account has this password")

    def test_invalid_hash_matches_no_password(self) -> None:
        assert not verify_password("plain", "plain")

    def test_unknown_account_is_verified_at_the_cost_of_a_known_account(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compared: list[str] = []
        verify = PasswordHasher.verify

        def record(hasher: PasswordHasher, stored: str, password: bytes) -> bool:
            compared.append(stored)
            return verify(hasher, stored, password)

        limits = PasswordLimits(memory_kib=64, iterations=3)
        stored = hash_password("correct horse battery", limits=limits)
        monkeypatch.setattr(PasswordHasher, "verify", record)
        assert not verify_password(stored, "wrong", limits=limits)
        assert not verify_password(None, "wrong", limits=limits)
        known, unknown = map(extract_parameters, compared)
        assert known == unknown


class TestRules:
    def test_passphrase_is_accepted(self) -> None:
        assert password_error("correct horse battery", EMAIL) is None

    def test_password_without_digits_and_symbols_is_accepted(self) -> None:
        assert password_error("aaabbbzzzq", EMAIL) is None

    @pytest.mark.parametrize("length", [0, 1, 7])
    def test_password_below_eight_characters_is_refused(self, length: int) -> None:
        assert "at least 8" in str(password_error("x" * length, EMAIL))

    def test_password_of_8_or_128_characters_is_accepted(self) -> None:
        assert password_error("xq7vbnmk", EMAIL) is None
        assert password_error("xq7vbnmk" * 16, EMAIL) is None

    def test_password_above_128_characters_is_refused(self) -> None:
        assert "at most 128" in str(password_error("xq7vbnmk" * 16 + "x", EMAIL))

    def test_password_of_128_four_byte_characters_is_accepted(self) -> None:
        assert password_error("🔑" * 128, EMAIL) is None

    @pytest.mark.parametrize("common", ["password123", "12345678", "qwertyuiop", "Password1", "ILOVEYOU", "trustno1"])
    def test_common_password_in_any_letter_case_is_refused(self, common: str) -> None:
        assert "too easy" in str(password_error(common, EMAIL))

    @pytest.mark.parametrize("name", ["galley12", "Galley2026"])
    def test_name_of_the_service_with_digits_is_refused(self, name: str) -> None:
        assert "too easy" in str(password_error(name, EMAIL))

    @pytest.mark.parametrize("own", ["ada.lovelace", "ADA.LOVELACE", "Ada.Lovelace@mail.example.org"])
    def test_email_of_the_user_is_refused(self, own: str) -> None:
        assert "e-mail" in str(password_error(own, EMAIL))


class TestCommonPasswords:
    def test_common_passwords_are_three_thousand_of_at_least_eight_characters(self) -> None:
        assert len(common_passwords()) == 3000
        assert min(map(len, common_passwords())) == 8
