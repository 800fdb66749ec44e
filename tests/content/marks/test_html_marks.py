"""Tests of the marks in pages of HTML."""

import pytest

from app.content.marks import Position
from tests.support.visible_marks import Marker

PAGES = {
    "<h1>One <em>two</em></h1>": "<h1>One <em>two</em>◆</h1>",
    "<p>One\n two\n</p>": "<p>One\n two◆\n</p>",
    "<ul><li>One</li><li><p>Two</p></li></ul>": "<ul><li>One◆</li><li><p>Two◆</p></li></ul>",
    "<table><tr><th>A</th><td>1</td></tr></table>": "<table><tr><th>A◆</th><td>1◆</td></tr></table>",
    "<dl><dt>A</dt><dd>B</dd></dl>": "<dl><dt>A◆</dt><dd>B◆</dd></dl>",
    "<blockquote>One</blockquote>": "<blockquote>One◆</blockquote>",
    "<figure><img src=a><figcaption>One</figcaption></figure>": (
        "<figure><img src=a><figcaption>One◆</figcaption></figure>"
    ),
}
UNMARKED = (
    *("<div>One</div>", "<p></p>", "<p>One <img src=a></p>", "<p>One<br></p>", "<li>One<ul></ul></li>", "<p>One"),
    *("<script>'<p>One</p>'</script>", "<pre><p>One</p></pre>", "<!-- <p>One</p> -->", "<svg><p>One</p></svg>"),
    *("<p>{{ a }}</p>", "{% if a %}<p>One</p>{% endif %}", "<p><% a %></p>", "<textarea><p>One</p></textarea>"),
)


@pytest.mark.parametrize(("text", "expected"), PAGES.items())
def test_mark_ends_the_text_of_an_element(marker: Marker, text: str, expected: str) -> None:
    assert marker.text("content/a.html", text) == expected
    assert marker.text("a.html", f"---\n---\n{text}\n") == f"---\n---\n{expected}\n"
    assert marker.text("a.html", text) == text


@pytest.mark.parametrize("text", UNMARKED)
def test_other_texts_have_no_mark(marker: Marker, text: str) -> None:
    assert marker.text("content/a.html", text) == text


def test_values_of_a_page_with_templates_have_marks(marker: Marker) -> None:
    assert marker.text("a.html", "---\ntitle: One two\n---\n<p>{{ a }}</p>") == (
        "---\ntitle: One two◆\n---\n<p>{{ a }}</p>"
    )


def test_position_has_the_lines_of_the_element(marker: Marker) -> None:
    text = "---\n---\n<p>One</p>\r\n<div>\r\n<p>Two\r\nthree\r\n</p></div>"
    assert marker.file("a.html", text).positions == (
        Position(None, None, (3, 3), "text"),
        Position(None, None, (5, 6), "text"),
    )


def test_hostile_pages_are_read_in_linear_time(marker: Marker) -> None:
    for part in ("<p>", "<p>a", "<li><p>a</p>", "<script>", "<!--", "<", "</p>"):
        text = part * 40_000
        assert marker.text("content/a.html", text).replace("◆", "") == text
