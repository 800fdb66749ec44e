"""Tests of marks as characters: their notation, their search in broken texts, and their removal."""

import random

import pytest

from app.content.marks import encode, find_marks, strip_marks
from app.content.marks.characters import MARK_CHARACTERS, MAX_NUMBER

NUMBERS = (0, 1, 4, 255, 256, 65_537, MAX_NUMBER)


def all_numbers(_number: int) -> bool:
    return True


@pytest.mark.parametrize("number", NUMBERS)
def test_mark_has_the_documented_characters(number: int) -> None:
    mark = encode(number)
    digits = [ord(character) - 0x2060 for character in mark]
    assert len(mark) == MARK_CHARACTERS
    assert digits[:3] == [3, 0, 3]
    assert int("".join(map(str, digits[3:15])), 4) == number
    assert digits[15] == sum((i + 1) * digit for i, digit in enumerate(digits[3:15])) % 4


@pytest.mark.parametrize("number", [-1, MAX_NUMBER + 1])
def test_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="no such number"):
        encode(number)


def test_marks_are_returned_with_their_positions() -> None:
    text = f"a{encode(5)}{encode(7)}b{encode(MAX_NUMBER)}"
    assert list(find_marks(text)) == [(1, 17, 5), (17, 33, 7), (34, 50, MAX_NUMBER)]


def test_wrong_check_digit_is_no_mark() -> None:
    mark = encode(1234)
    forged = mark[:-1] + chr(0x2060 + (ord(mark[-1]) - 0x2060 + 1) % 4)
    assert list(find_marks(forged)) == []
    assert strip_marks(forged, all_numbers) is forged


@pytest.mark.parametrize("length", range(1, MARK_CHARACTERS))
def test_mark_after_a_cut_mark_is_removed(length: int) -> None:
    cut = encode(77_777)[:length]
    assert strip_marks(f"a{cut}{encode(9)}b", lambda number: number == 9) == f"a{cut}b"
    assert strip_marks(f"a{encode(9)}{cut}", lambda number: number == 9) == f"a{cut}"


def test_only_known_marks_are_removed() -> None:
    text = f"one{encode(1)} two{encode(2)}{encode(3)}"
    assert strip_marks(text, {1, 3}.__contains__) == f"one two{encode(2)}"


def test_characters_of_authors_remain() -> None:
    text = "word\u2060joiner f\u2061(x) a\u2062b \u2063\u2060\u2063 \u2063\u2060\u2063\u2060"
    assert strip_marks(text, all_numbers) is text
    assert strip_marks(text + encode(3), all_numbers) == text


def test_texts_of_random_digits_lose_the_inserted_marks_only() -> None:
    source = random.Random(51)
    for _ in range(300):
        parts = ["".join(source.choices("\u2060\u2061\u2062\u2063a", k=source.randrange(40))) for _ in range(5)]
        text = f"{encode(1)}".join(part + "." for part in parts)
        assert strip_marks(text, lambda number: number == 1) == "".join(part + "." for part in parts)


def test_texts_of_starts_are_read_in_linear_time() -> None:
    text = encode(0)[:3] * 200_000
    assert strip_marks(text, lambda _number: False) is text
