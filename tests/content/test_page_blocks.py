"""Tests of the differences of built pages: blocks, their changes, marks, and the time of awkward pages."""

import time

import pytest

from app.content.page_blocks import FIRST_MARK, MARK, MAX_TEXT, block_changes, blocks_of, with_changes_marked

PAGE = (
    "<!doctype html><html><head><title>Hall</title><style>p{}</style></head><body><nav><ul><li><a href=/>Home</a>"
    "<li><a href=/a>About</a></ul></nav><main><h1>The &amp; hall</h1><p>One <b>two</b><br>three</p>"
    '<img src="/img/hall.png"><p id=k>Same</p>free<svg><text>drawn</text></svg></main><script>var x</script></body>'
)


def changes(before: str, after: str) -> list[tuple[str | None, str | None]]:
    blocks = blocks_of(before), blocks_of(after)
    assert blocks[0] is not None
    assert blocks[1] is not None
    return [(change.before, change.after) for change in block_changes(blocks[0], blocks[1])]


def test_blocks_are_the_texts_of_elements_without_scripts_and_drawings() -> None:
    blocks = blocks_of(PAGE) or []
    assert [block.text for block in blocks] == [
        *("Home", "About", "The & hall", "One two three", "hall.png", "Same", "free")
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("two", "2", [("One two three", "One 2 three")]),
        ("<p id=k>", "<p>New</p><p id=k>", [(None, "New")]),
        ("<h1>The &amp; hall</h1>", "", [("The & hall", None)]),
        ("hall.png", "town.png", [("hall.png", "town.png")]),
        ("href=/a", "href=/b", [("About", "About")]),
        ("<b>two</b>", "<i>two</i>", [("One two three", "One two three")]),
        ("<main>", "<main class=wide>", []),
        ("var x", "var y", []),
        ("drawn", "painted", []),
        ("<h1>", "\n\n <h1>", []),
        ("two", "two" * MAX_TEXT, [("One two three", ("One " + "two" * MAX_TEXT)[:MAX_TEXT])]),
    ],
)
def test_changes_are_those_of_texts_links_and_pictures(
    old: str, new: str, expected: list[tuple[str | None, str | None]]
) -> None:
    assert changes(PAGE, PAGE.replace(old, new)) == expected


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("three", "four", f'<p {MARK} id="{FIRST_MARK}">One'),
        ("hall.png", "town.png", f'<img {MARK} id="{FIRST_MARK}" src='),
        ("Same", "Other", f"<p {MARK} id=k>Other"),
        ("About", "We", f'<li {MARK} id="{FIRST_MARK}"><a href=/a>We'),
        ("free", "<b>free</b> text", f'<b {MARK} id="{FIRST_MARK}">free'),
    ],
)
def test_innermost_changed_element_is_marked(old: str, new: str, marked: str) -> None:
    after = PAGE.replace(old, new)
    shown = with_changes_marked(after, PAGE, is_after=True)
    assert marked in shown
    assert (shown.count(f" {MARK}"), shown.count("<head><style>")) == (1, 1)


def test_both_versions_have_marks_and_lose_nothing() -> None:
    after = PAGE.replace("One", "Eins").replace("Same", "Other")
    for page, other, is_after in ((after, PAGE, True), (PAGE, after, False)):
        shown = with_changes_marked(page, other, is_after=is_after)
        assert shown.count(f" {MARK}") == 2
        style = shown[shown.index("<style>[") : shown.index("</style>") + len("</style>")]
        assert shown.replace(style, "").replace(f" {MARK}", "").replace(f' id="{FIRST_MARK}"', "") == page


@pytest.mark.parametrize("other", [PAGE, PAGE + "<p>removed", "<b>x" * 60_000])
def test_page_without_changed_elements_is_served_as_it_is(other: str) -> None:
    assert with_changes_marked(PAGE, other, is_after=True) == PAGE


@pytest.mark.parametrize(
    "piece", ["<p>a", "<", "<p", '<a b="', "<script>", "<!--", "</p>", "<div>", " ", "<b>a", "<img alt=", "&", "a."]
)
def test_awkward_pages_are_read_in_bounded_time(piece: str) -> None:
    page = piece * (2**20 // len(piece))
    started = time.process_time()
    with_changes_marked(page, page[: len(page) // 2] + "x", is_after=True)
    assert time.process_time() - started < 10
