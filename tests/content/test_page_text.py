"""Tests of the text of a page: only edited lines and values change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.front_matter.editor import UnsupportedEdit
from app.content.page_text import read_page, with_line_ends, write_page

PAGE = b"---\ntitle: A  # note\ndate: 2026-05-27\n---\n\nOne.\nTwo.\n"


def test_write_page_changes_only_the_edited_parts() -> None:
    page = read_page("a.md", PAGE)
    assert page is not None
    assert page.values == {"title": "A", "date": "2026-05-27"}
    sent = page.body.replace("\n", "\r\n")
    assert write_page("a.md", PAGE, sent) == PAGE
    assert write_page("a.md", PAGE, sent.replace("Two", "2")) == PAGE.replace(b"Two", b"2")
    assert write_page("a.md", PAGE, sent, {"title": "B"}) == PAGE.replace(b"title: A", b"title: B")


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfOne\r\nTwo", b"One\rTwo\n\r\nThree\n", b"\n\nOne", b"", b"no end"])
def test_write_page_without_a_change_keeps_every_byte(data: bytes) -> None:
    page = read_page("a.txt", data)
    assert page is not None
    sent = page.body.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
    assert write_page("a.txt", data, sent) == data


def test_mixed_line_ends_stay_on_unchanged_lines() -> None:
    assert with_line_ends("a\r\nb\nc\r\n", "a\nb\nnew\nc\n") == "a\r\nb\nnew\r\nc\r\n"
    assert with_line_ends("a\r\nb\n\r\nc", "a\nb\n\nc\n") == "a\r\nb\n\r\nc\r\n"
    assert with_line_ends("a\r\nb\n\r\nc", "a\nb\n\nc\nd") == "a\r\nb\n\r\nc\r\nd"


@pytest.mark.parametrize(
    ("path", "data", "line"),
    [
        ("data/config.toml", b"# site\nbase = 'x'\r\ntitle = \"Old\" # keep\n[params]\n  a.b = 1\n", b"# keep"),
        ("data/config.toml", b"# site\r\nbase = 'x'\ntitle = \"Old\" # keep\r\n[params]\n  a.b = 1", b"# keep"),
        ("data/a.yaml", b"a:\r\n  - b\n  - c # keep\r\n\r\n\n# end\n", b"# keep"),
        ("data/a.json", b'{\r\n\t"a": 1,\n\t"b": [ 2 ]\r\n}', b"1,"),
        ("a.md", b"---\r\ntitle: x\n---\r\nOne\nTwo\r\nOne\n", b"Two"),
        ("data/a.csv", b"a,b\r1,2\n1,2\r\n3,4\r", b"3,4"),
    ],
)
def test_typed_space_is_the_only_new_byte_of_mixed_line_ends(path: str, data: bytes, line: bytes) -> None:
    page = read_page(path, data)
    assert page is not None
    shown = page.body.replace("\r\n", "\n").replace("\r", "\n")
    sent = shown.replace(line.decode(), f"{line.decode()} ").replace("\n", "\r\n")
    assert write_page(path, data, sent) == data.replace(line, line + b" ")


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ("one\nx\ny\nthree\n", "one\nx\r\ny\r\nthree\n"),
        ("one!\ntwo!\nthree!\n", "one!\ntwo!\r\nthree!\n"),
        ("three\ntwo\none\n", "three\ntwo\r\none\n"),
        ("one\ntwo\nnew\nthree\n", "one\ntwo\r\nnew\nthree\n"),
    ],
)
def test_changed_line_keeps_the_line_end_of_the_line_before(edited: str, expected: str) -> None:
    assert with_line_ends("one\ntwo\r\nthree\n", edited) == expected


@given(st.text("ab\r\n", max_size=12), st.text("ab\n", max_size=12))
def test_line_ends_are_the_only_difference_to_the_edited_text(original: str, edited: str) -> None:
    result = with_line_ends(original, edited.replace("\n", "\r\n"))
    assert result.replace("\r\n", "\n").replace("\r", "\n") == edited


def test_mixed_line_ends_of_long_texts_stay_on_lines_with_equal_text() -> None:
    original = "".join(f"{n}\r\n" if n % 3 else f"{n}\n" for n in range(20_000))
    edited = "first\n" + original.replace("\r\n", "\n").replace("19999\n", "last\n")
    assert with_line_ends(original, edited) == "first\r\n" + original.replace("19999\r\n", "last\r\n").replace(
        "19999\n", "last\r\n"
    )


def test_read_page_of_binary_or_broken_files_has_no_fields() -> None:
    assert read_page("a.png", b"\x89PNG\x00") is None
    broken = read_page("a.md", b"---\ntitle: [\n---\nText\n")
    assert broken is not None
    assert broken.problem
    assert broken.body.startswith("---\n")
    with pytest.raises(UnsupportedEdit):
        write_page("a.md", b"---\ntitle: [\n---\nText\n", "Text\n", {"title": "B"})
