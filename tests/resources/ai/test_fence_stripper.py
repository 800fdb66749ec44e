"""Tests of the extraction of a file's new text from a model's reply, in pieces of every size."""

import pytest

from app.resources.ai.stream_parsers import FenceStripper

CASES = {
    "plain": ("a\nb\n", "a\nc\n", "a\nc\n"),
    "no newline kept": ("a\nb", "a\nc\n\n", "a\nc"),
    "newline added": ("a\nb\n", "a\nc", "a\nc\n"),
    "fenced": ("a\n", "```html\n<p>\n\n</p>\n```", "<p>\n\n</p>\n"),
    "fenced, more after": ("a\n", "```\nb\n```\n\n", "b\n"),
    "long fence": ("a\n", "````md\n```js\nx\n```\n````\n", "```js\nx\n```\n"),
    "fence within": ("a\n", "# T\n\n```js\nx\n```\n\nend\n", "# T\n\n```js\nx\n```\n\nend\n"),
    "fenced markdown with fences": (
        "a\n",
        "```markdown\n# T\n\n```js\nx\n```\n\nend\n```\n",
        "# T\n\n```js\nx\n```\n\nend\n",
    ),
    "file that is a fence": ("```js\na\n```\n", "```js\nb\n```\n", "```js\nb\n```\n"),
    "tildes": ("a\n", "~~~\nb\n~~~", "b\n"),
    "windows ends": ("a\r\nb\r\n", "a\nc\nd\n", "a\r\nc\r\nd\r\n"),
    "windows ends from the model too": ("a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n"),
    "windows ends are not wanted": ("a\nb\n", "a\r\nc\r\n", "a\nc\n"),
    "one line": ("a", "b", "b"),
    "inline code first": ("a\n", "`x` is\n", "`x` is\n"),
    "blank lines within": ("a\n", "a\n\n\n\nb\n", "a\n\n\n\nb\n"),
    "nothing": ("a\n", "", ""),
    "only a fence": ("a\n", "```\n```", ""),
    "indented first line": ("  a\n", "  b\n", "  b\n"),
}


class TestFenceStripper:
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
    @pytest.mark.parametrize("case", CASES)
    def test_text_does_not_depend_on_the_piece_size(self, case: str, size: int) -> None:
        old, said, new = CASES[case]
        rewriting = FenceStripper(old)
        given = [rewriting.feed(said[at : at + size]) for at in range(0, len(said), size)] + [rewriting.end()]
        assert "".join(given) == rewriting.text == new

    def test_feed_returns_a_line_when_the_next_begins(self) -> None:
        rewriting = FenceStripper("a\n")
        assert rewriting.feed("one\ntwo") == "one"
        assert rewriting.feed("\nthree\n") == "\ntwo\nthree"
