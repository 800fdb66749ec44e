"""Tests of encodings and line counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.text import count_lines, decode


class TestDecode:
    @pytest.mark.parametrize(
        ("data", "text", "encoding"),
        [
            (b"", "", "utf-8"),
            ("é日😀".encode(), "é日😀", "utf-8"),
            (b"\xef\xbb\xbfa", "a", "utf-8-sig"),
            ("é".encode("utf-16"), "é", "utf-16"),
            ("é\n".encode("utf-16-be").join([b"\xfe\xff", b""]), "é\n", "utf-16"),
            (b"caf\xe9\n", "café\n", "latin-1"),
            (b"\0\1\2\xff", None, None),
            (b"text\0text", None, None),
            (b"\x89PNG\r\n\x1a\n\xff\x01", None, None),
            (b"\xff\xfe\x00", None, None),
        ],
    )
    def test_decode_returns_text_and_encoding_or_none(
        self, data: bytes, text: str | None, encoding: str | None
    ) -> None:
        assert decode(data) == (text, encoding)

    def test_decode_of_a_truncated_character_drops_the_character(self) -> None:
        assert decode("aé".encode()[:2], whole=False) == ("a", "utf-8")
        assert decode("aé".encode()[:2]) == ("aÃ", "latin-1")

    @given(st.text(st.characters(exclude_characters="\0\ufeff", codec="utf-8")))
    def test_decode_of_encoded_text_returns_the_text(self, text: str) -> None:
        assert decode(text.encode()) == (text, "utf-8")


class TestCountLines:
    @pytest.mark.parametrize(
        ("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"a\r\nb\r\n", 2)]
    )
    def test_count_lines_returns_the_number_of_an_editor(self, data: bytes, lines: int) -> None:
        assert count_lines(data) == lines
