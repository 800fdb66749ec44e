"""Tests of the similarity by which renames are found."""

from collections import Counter

import pytest

from app.resources.project_content.saving.renames import MAX_COMPARED_LINES, MIN_SIMILARITY, similar_files, similarity

TEXT = b"".join(b"Line %d of a page.\n" % number for number in range(20))


def lines(data: bytes) -> Counter[bytes]:
    return Counter(data.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("other", "is_similar"),
    [
        (TEXT, True),
        (TEXT[: len(TEXT) // 2 + 40], True),
        (TEXT[: len(TEXT) // 2 - 40], False),
        (TEXT * 3, False),
        (TEXT + b"More.\n", True),
        (b"", False),
        (b"Other text.\n" * 20, False),
    ],
)
def test_similarity_is_the_share_of_equal_lines(other: bytes, is_similar: bool) -> None:
    assert (similarity(lines(TEXT), lines(other)) >= MIN_SIMILARITY) is is_similar
    assert similarity(lines(TEXT), lines(other)) == similarity(lines(other), lines(TEXT))


def test_pairs_above_the_limit_of_lines_are_not_compared() -> None:
    count = MAX_COMPARED_LINES * 2 // 5
    old, new = (
        {
            f"{folder}/{letter}": b"".join(b"%s%d\n" % (letter.encode(), line) for line in range(count))
            for letter in "ab"
        }
        for folder in ("old", "new")
    )
    assert similar_files(old, new) == {"old/a": "new/a"}
