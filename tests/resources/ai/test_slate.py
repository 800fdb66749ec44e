"""Tests of Slate nodes as Markdown, with the expected text of each case and a Markdown parser as the reader."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.resources.ai.editor_command import plain_text, to_markdown
from tests.support.watchdog import watchdog


def p(*children: Any, **more: Any) -> dict[str, Any]:
    nodes = [{"text": child} if isinstance(child, str) else child for child in children]
    return {"type": "p", "children": nodes, **more}


def bold(text: str) -> dict[str, Any]:
    return {"text": text, "bold": True}


CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "paragraphs": ([p("One."), p("Two.")], "One.\n\nTwo."),
    "empty paragraphs vanish": ([p("One."), p(""), p("Two.")], "One.\n\nTwo."),
    "headings": ([{"type": f"h{n}", "children": [{"text": "T"}]} for n in (1, 3, 6)], "# T\n\n### T\n\n###### T"),
    "bold and italic": ([p("a ", {"text": "b", "bold": True, "italic": True}, " c")], "a _**b**_ c"),
    "white space stays outside of marks": ([p("a", bold(" b "), "c")], "a **b** c"),
    "struck and code": ([p({"text": "x", "strikethrough": True}, {"text": "y*z", "code": True})], "~~x~~`y*z`"),
    "code with a backtick": ([p({"text": "a`b", "code": True})], "`` a`b ``"),
    "special characters are text": ([p("2*3*4 [x] <b> _y_ `z` \\")], r"2\*3\*4 \[x\] \<b\> \_y\_ \`z\` \\"),
    "text like a heading is text": ([p("# no"), p("1. no"), p("- no"), p("--- no")], "\\# no\n\n1\\. no\n\n\\- no\n\n\\--- no"),
    "link": ([p("see ", {"type": "a", "url": "/a?b", "children": [bold("here")]}, ".")], "see [**here**](/a?b)."),
    "mention": ([p({"type": "mention", "value": "ann", "children": [{"text": ""}]})], "@ann"),
    "image": (
        [{"type": "img", "url": "/x.png", "caption": [{"text": "A [cat]"}], "children": [{"text": ""}]}],
        r"![A \[cat\]](/x.png)",
    ),
    "rule": ([{"type": "hr", "children": [{"text": ""}]}], "---"),
    "quote of text": ([{"type": "blockquote", "children": [{"text": "a\nb"}]}], "> a\n> b"),
    "quote of blocks": ([{"type": "blockquote", "children": [p("a"), p("b")]}], "> a\n>\n> b"),
    "code block": (
        [{"type": "code_block", "lang": "py", "children": [{"type": "code_line", "children": [{"text": t}]} for t in ("if *a*:", "    b")]}],
        "```py\nif *a*:\n    b\n```",
    ),
    "code block with a fence": (
        [{"type": "code_block", "children": [{"type": "code_line", "children": [{"text": "```"}]}]}],
        "````\n```\n````",
    ),
    "nested list": (
        [{"type": "ul", "children": [
            {"type": "li", "children": [{"type": "lic", "children": [{"text": "a"}]}, {"type": "ol", "children": [
                {"type": "li", "children": [{"type": "lic", "children": [{"text": "b"}]}]},
                {"type": "li", "children": [{"type": "lic", "children": [bold("c")]}]}]}]},
            {"type": "li", "children": [{"type": "lic", "children": [{"text": "d"}]}]}]}],
        "- a\n    1. b\n    2. **c**\n- d",
    ),
    "indented list": (
        [p("a", indent=1, listStyleType="disc"), p("b", indent=2, listStyleType="disc"),
         p("c", indent=1, listStyleType="todo", checked=True), p("x"), p("d", indent=1, listStyleType="decimal", listStart=3)],
        "- a\n    - b\n- [x] c\n\nx\n\n3. d",
    ),
    "table": (
        [{"type": "table", "children": [
            {"type": "tr", "children": [{"type": "th", "children": [p("A|B")]}, {"type": "th", "children": [p("C")]}]},
            {"type": "tr", "children": [{"type": "td", "children": [p("1"), p("2")]}]}]}],
        "| A\\|B | C |\n| --- | --- |\n| 1<br>2 |  |",
    ),
    "equation": ([{"type": "equation", "texExpression": "a^2", "children": [{"text": ""}]}], "$$\na^2\n$$"),
    "unknown blocks are read for their text": (
        [{"type": "column_group", "children": [{"type": "column", "children": [p("left")]}, {"type": "weird", "children": [{"text": "right"}]}]}],
        "left\n\nright",
    ),
}  # fmt: skip


def read_back(markdown: str) -> list[str]:
    """Return the texts of the blocks as a CommonMark parser reads them."""
    return [token.content for token in MarkdownIt("commonmark").parse(markdown) if token.type == "inline"]


def rendered_text(markdown: str) -> str:
    """Return the rendered text of one block without marks."""
    tokens = MarkdownIt("commonmark").parse(markdown)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"], markdown
    assert {child.type for child in tokens[1].children or ()} <= {"text", "text_special"}, markdown
    return "".join(child.content for child in tokens[1].children or ())


class TestReadBack:
    """Tests that a Markdown reader shows the typed text unchanged."""

    @given(st.text(alphabet="ab1.)#-+*_`~=<>[]()!\\|:&; ", min_size=1, max_size=24))
    @settings(max_examples=400, deadline=None)
    def test_plain_text_is_read_as_plain_text(self, typed: str) -> None:
        text = " ".join(typed.split())
        assume(text)
        assert rendered_text(to_markdown([p(text)])) == text

    def test_blocks_are_read_as_separate_blocks(self) -> None:
        nodes = [p("One."), {"type": "h2", "children": [{"text": "# Two"}]}, p("=== "), p("1. three")]
        assert len(read_back(to_markdown(nodes))) == 4


class TestToMarkdown:
    @pytest.mark.parametrize("case", CASES)
    def test_nodes_are_converted_to_markdown(self, case: str) -> None:
        nodes, expected = CASES[case]
        assert to_markdown(nodes) == expected

    @pytest.mark.parametrize(
        "nodes",
        [
            [{}],
            [{"type": None, "children": None}],
            [{"type": ["h1"], "children": "x"}],
            [{"type": "table", "children": []}],
            [{"type": "table", "children": [{}]}],
            [{"type": "a", "url": 7, "children": [{"text": "x"}]}],
            [{"type": "img", "url": {"x": 1}, "caption": "no"}],
            [{"type": "ul", "children": [{"type": "ul"}, 7, None]}],
            [{"type": "p", "listStyleType": "decimal", "indent": "x", "listStart": None, "children": [{"text": "i"}]}],
            [{"type": "code_block", "lang": 4}],
        ],
    )
    def test_invalid_nodes_are_read_without_an_error(self, nodes: list[dict[str, Any]]) -> None:
        assert isinstance(to_markdown(nodes), str)

    @pytest.mark.parametrize("bait", ["\n", " ", "\n 1", "=\n"], ids=["lines", "spaces", "numbers", "rules"])
    def test_hostile_text_is_converted_within_the_time_limit(self, bait: str) -> None:
        with watchdog():
            assert to_markdown([p(bait * 100_000 + "a")])

    def test_plain_text_contains_no_marks(self) -> None:
        assert plain_text(p("a ", bold("b"), {"type": "a", "children": [{"text": "c"}]})) == "a bc"
