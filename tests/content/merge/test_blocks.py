"""Tests of the division of Markdown into blocks."""

import pytest

from app.content.merge.blocks import MAX_BLOCKS, split_blocks
from app.content.merge.files import MergedFile, merge_file


@pytest.mark.parametrize("count", [1, MAX_BLOCKS, MAX_BLOCKS + 1])
def test_blocks_of_a_text_are_complete_up_to_one_above_the_limit(count: int) -> None:
    text = "\n\n".join(f"Block {number}" for number in range(count))
    assert "".join(split_blocks(text)) == text


def test_text_far_above_the_limit_is_divided_only_at_its_start() -> None:
    text = "\n\n".join(f"Block {number}" for number in range(10 * MAX_BLOCKS))
    blocks = split_blocks(text)
    assert (len(blocks), text.startswith("".join(blocks))) == (2 * MAX_BLOCKS + 2, True)


def test_empty_lines_do_not_count_as_blocks() -> None:
    text = "One\n" + "\n" * (3 * MAX_BLOCKS) + "Two\n"
    assert "".join(split_blocks(text)) == text


def test_long_texts_are_merged_by_line_without_a_loss() -> None:
    lines = [f"Block {number}\n\n" for number in range(3 * MAX_BLOCKS)]
    base, mine, theirs = ("".join(lines), "".join(["Mine\n\n", *lines[1:]]), "".join([*lines[:-1], "Theirs\n\n"]))
    merged = merge_file("a.md", base.encode(), mine.encode(), theirs.encode())
    assert isinstance(merged, MergedFile)
    assert merged.data == "".join(["Mine\n\n", *lines[1:-1], "Theirs\n\n"]).encode()
