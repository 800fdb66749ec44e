"""Tests of the validation and comparison of e-mail addresses."""

import pytest

from app.core.emails import InvalidEmail, email_key, is_email, with_ascii_domain


class TestEmailKey:
    @pytest.mark.parametrize("spelling", ["ada@mail.example.org", "Ada@MAIL.example.org", "ADA@mail.EXAMPLE.org"])
    def test_key_ignores_letter_case(self, spelling: str) -> None:
        assert email_key(spelling) == "ada@mail.example.org"

    def test_key_is_equal_for_composed_and_decomposed_letters(self) -> None:
        assert email_key("jose\u0301@example.org") == email_key("jos\u00e9@example.org")

    def test_key_is_equal_for_a_domain_and_its_idna_form(self) -> None:
        assert email_key("x@bücher.example") == email_key("x@xn--bcher-kva.example") == "x@xn--bcher-kva.example"

    @pytest.mark.parametrize("other", ["a_b@example.org", "ab@example.org", "a.b+tag@example.org", "a.b@example.com"])
    def test_key_differs_for_dots_underscores_and_tags(self, other: str) -> None:
        assert email_key("a.b@example.org") != email_key(other)

    def test_key_of_an_invalid_address_raises(self) -> None:
        with pytest.raises(InvalidEmail):
            email_key("nobody")


class TestIsEmail:
    @pytest.mark.parametrize(
        "address",
        [
            "p1@mail.example.org",
            "a@b.test",
            "demo@galley.localhost",
            "me@intranet.local",
            "o'hara+x@example.com",
            "ü@x.org",
        ],
    )
    def test_address_with_a_reserved_domain_or_non_ascii_letters_is_valid(self, address: str) -> None:
        assert is_email(address)

    @pytest.mark.parametrize(
        "address",
        [
            "",
            "a",
            "a@",
            "@b.org",
            "a@localhost",
            "a@b@c.org",
            "a b@c.org",
            "a@b..org",
            "a@[127.0.0.1]",
            "Ada <ada@example.org>",
            "a\r\nBcc: b@c.org",
            "a\x00@b.org",
            "\ud800@b.org",
            "x" * 65 + "@b.org",
            "a@" + "b" * 250 + ".org",
        ],
    )
    def test_undeliverable_text_is_invalid(self, address: str) -> None:
        assert not is_email(address)


class TestWithAsciiDomain:
    @pytest.mark.parametrize(
        ("address", "form"),
        [
            ("Ada@Bücher.example", "Ada@xn--bcher-kva.example"),
            ("jürgen@example.org", "jürgen@example.org"),
            ("no-reply@127.0.0.1", "no-reply@127.0.0.1"),
        ],
    )
    def test_only_the_domain_is_converted(self, address: str, form: str) -> None:
        assert with_ascii_domain(address) == form

    def test_invalid_address_raises(self) -> None:
        with pytest.raises(InvalidEmail):
            with_ascii_domain("jürgen")
