"""Changed fields and paragraphs of two versions of a page."""

import pytest

from app.content.page_changes import page_changes, with_marks

BEFORE = b"---\ntitle: Fog\ntags: [a]\nmeta: {image: {alt: Pier}}\n---\nOne line.\n\nTwo lines\nhere.\n\nThree.\n"


def test_page_changes_names_fields_once_and_counts_paragraphs() -> None:
    after = b"---\ntitle: Fog signals\ntags: [a, b]\nmeta: {image: {alt: Quay, src: q.png}}\n---\nOne word.\n\nTwo lines\nhere.\n\nThree.\n\nFour.\n"
    changes = page_changes("a.md", BEFORE, after)
    assert changes is not None
    assert changes.fields == ("title", "tags", "meta")
    assert changes.paragraphs == 2
    first, second = changes.texts
    assert (first.before, first.after, first.removed, first.added) == ("One line.", "One word.", [(4, 8)], [(4, 8)])
    assert (second.before, second.after) == ("", "Four.")


def test_page_changes_of_empty_lines_are_empty() -> None:
    changes = page_changes("a.md", BEFORE, BEFORE.replace(b"\n\nThree", b"\n\n\n\nThree"))
    assert changes is not None
    assert (changes.fields, changes.texts, changes.paragraphs) == ((), (), 0)


def test_page_changes_of_binary_files_are_none() -> None:
    assert page_changes("a.png", b"\x89PNG\xff\x00", b"x") is None


def test_page_changes_of_a_data_file_are_fields() -> None:
    changes = page_changes("menu.yaml", b"- Home\n\n- Blog\n", b"- Home\n\n- Shop\n")
    assert changes is not None
    assert (changes.fields, changes.paragraphs) == (("items",), 0)
    changes = page_changes("menu.yaml", b"a: 1\n", b"a: [1\n")
    assert changes is not None
    assert (changes.fields, changes.paragraphs) == ((), 1)


@pytest.mark.parametrize(
    ("text", "ranges", "marked"),
    [
        ("One word.", [(4, 8)], "One [word]."),
        ("- one\n- two", [(0, 11)], "- [one]\n- [two]"),
        ("See [a](/old/url) now", [(5, 12), (18, 21)], "See [[a]](/old/url) [now]"),
        ("See <https://a.example> now", [(5, 10)], "See <https://a.example> now"),
    ],
)
def test_marks_are_outside_of_the_syntax_of_lines_and_of_urls(
    text: str, ranges: list[tuple[int, int]], marked: str
) -> None:
    assert with_marks(text, ranges, "[", "]") == marked
