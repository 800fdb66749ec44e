"""Tests of the marks in the body of Markdown and MDX."""

import pytest

from app.content.marks import Position
from tests.support.visible_marks import Marker

BLOCKS = {
    "heading": ("# Title ##", "# Title◆ ##"),
    "heading with attributes": ("## Title {#a .b}", "## Title◆ {#a .b}"),
    "underlined heading": ("Title\n=====", "Title◆\n====="),
    "paragraph": ("one\ntwo  ", "one\ntwo◆  "),
    "tight list": ("- one\n- two\n  - three\n", "- one◆\n- two◆\n  - three◆\n"),
    "loose list": ("1. one\n\n   more\n\n2. two", "1. one◆\n\n   more◆\n\n2. two◆"),
    "task": ("- [x] done", "- [x] done◆"),
    "quotation": ("> one\n> two\nlazy\n>\n> - item", "> one\n> two\nlazy◆\n>\n> - item◆"),
    "table": (
        "| a | b |\n|---|:-:|\n| c \\| d |  |\n| **e** | 1",
        "| a◆ | b◆ |\n|---|:-:|\n| c \\| d◆ |  |\n| **e◆** | 1◆",
    ),
    "table without borders": ("a | b\n--|--\nc | d", "a◆ | b◆\n--|--\nc◆ | d◆"),
    "component around text": ("<Note>\n\ntext here\n\n</Note>", "<Note>\n\ntext here◆\n\n</Note>"),
    "repeated headings": ("# A b\n\none\n\n## A  B\n\ntwo\n\n## C", "# A b\n\none◆\n\n## A  B\n\ntwo◆\n\n## C◆"),
    "text above code between shortcodes": (
        'Text here:\n{{< code-tab lang="a" >}}\nsome code\n{{< /code-tab >}}\n',
        'Text here:◆\n{{< code-tab lang="a" >}}\nsome code\n{{< /code-tab >}}\n',
    ),
    "text above code between shortcodes with a heading": (
        "Text here:\n{{< code-tab >}}\na: b\n# c d\ne f\n\n- g h\n{{< /code-tab >}}\n\nMore",
        "Text here:◆\n{{< code-tab >}}\na: b\n# c d\ne f\n\n- g h\n{{< /code-tab >}}\n\nMore◆",
    ),
    "item above code between tags that continues in another one": (
        "- Text here:\n  {% raw %}\n  a b\n- c d\n  {% endraw %}\n\nMore",
        "- Text here:◆\n  {% raw %}\n  a b\n- c d\n  {% endraw %}\n\nMore◆",
    ),
    "item above code between tags": (
        "- Text here:\n  {% highlight js %}\n  some code\n  {% endhighlight %}",
        "- Text here:◆\n  {% highlight js %}\n  some code\n  {% endhighlight %}",
    ),
    "container": ("::: tip\n\ntext here\n\n:::", "::: tip\n\ntext here◆\n\n:::"),
}
UNMARKED = {
    "fenced code": "```js\nconst a = 1\n```",
    "indented code": "    code here",
    "HTML": "<div>\ntext here\n</div>",
    "script with empty lines": "<div>\n<script>\na()\n\nb c\n</script>\n</div>",
    "shortcode": '{{< figure src="a b" >}}',
    "shortcode of several lines": '{{< figure\n  src="a b"\n>}}',
    "code between shortcodes": "{{< highlight go >}}\n\nsome code\n\n{{< /highlight >}}",
    "code between other shortcodes": "{{< codeFromInline >}}\n\nsome code\n\n{{< /codeFromInline >}}",
    "code between shortcodes without empty lines": '- {{< code-tab x="y" >}}\n  a b\n  {{< /code-tab >}}',
    "only tags": '<a id="x"></a>',
    "directive": '::github{repo="a/b"}',
    "code between tags": "{% highlight ruby %}\n\nsome code\n\n{% endhighlight %}",
    "link addresses": "[a]: https://a.example 'Title here'\n[b]: /c",
    "footnote": "[^1]: Note here",
    "admonition": "!!! note\n    text here",
    "attributes": "{: .lead}",
    "empty item": "- \n- ",
    "table in a list": "- | a | b |\n  |---|---|\n  | c | d |",
    "component": '<Card title="a b">text here</Card>',
    "Pandoc formula": "$$\na + b\n$$",
}
MDX_UNMARKED = {
    "import": "import A from './a'",
    "export with empty lines": "export const a = {\n\n  b: 'c d',\n\n}",
    "expression": "{a.b}",
    "element": "text <A /> here",
    "attributes after an empty line": "<A\n\n  title='a b'\n\n/>",
}


@pytest.mark.parametrize(("text", "expected"), BLOCKS.values(), ids=BLOCKS)
def test_each_text_of_a_block_has_a_mark(marker: Marker, text: str, expected: str) -> None:
    before = "---\n---\n\n"
    assert marker.text("docs/a.md", before + text) == before + expected


@pytest.mark.parametrize("text", UNMARKED.values(), ids=UNMARKED)
def test_other_blocks_have_no_mark(marker: Marker, text: str) -> None:
    assert marker.text("docs/a.md", f"First\n\n{text}\n\nLast\n") == f"First◆\n\n{text}\n\nLast◆\n"


def test_code_directly_below_html_has_no_mark(marker: Marker) -> None:
    """Kramdown ends the HTML at the fence. For the editor, the second fence starts code."""
    code = "<div>a</div>\n```yaml\na b\n\nc d\n\n~~~\ne f\n~~~\n\n````\n"
    assert marker.text("docs/a.md", f"First\n\n{code}\nLast\n") == f"First◆\n\n{code}\nLast\n"
    assert marker.text("docs/a.md", "<div>\n```\na\n```\n</div>\n\nLast\n") == "<div>\n```\na\n```\n</div>\n\nLast◆\n"


def test_text_after_code_without_an_end_has_a_mark(marker: Marker) -> None:
    text = '{{< code file="a.js" >}}\n\nThe <code> tag\n\nLast\n'
    assert marker.text("docs/a.md", text) == '{{< code file="a.js" >}}\n\nThe <code> tag◆\n\nLast◆\n'


@pytest.mark.parametrize("text", MDX_UNMARKED.values(), ids=MDX_UNMARKED)
def test_code_of_mdx_has_no_mark(marker: Marker, text: str) -> None:
    assert marker.text("docs/a.mdx", f"First\n\n{text}\n\nLast\n") == f"First◆\n\n{text}\n\nLast◆\n"


def test_position_is_the_block_and_its_lines_in_the_file(marker: Marker) -> None:
    text = "---\r\ndate: 2024-01-01\r\n---\r\n\r\n# One\r\n\r\n```\r\ncode\r\n```\r\n\r\n- two\r\n- ![The alt text](a.png)\r\n"
    assert marker.file("docs/a.md", text).positions == (
        Position(None, 0, (5, 5), "text"),
        Position(None, 2, (11, 12), "text"),
        Position(None, 2, (11, 12), "alt"),
    )


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_line_ends_and_byte_order_mark_remain(marker: Marker, line_end: str, end: str) -> None:
    text = ("# One\n\ntwo\nthree\n\n- four" + end).replace("\n", line_end)
    marked = marker.file("docs/a.md", b"\xef\xbb\xbf" + text.encode())
    assert [position.lines for position in marked.positions] == [(1, 1), (3, 4), (6, 6)]
    assert marked.data.startswith(b"\xef\xbb\xbf#")


def test_metadata_without_fences_has_no_mark(marker: Marker) -> None:
    assert marker.text("docs/a.md", "Title: My page\nAuthors: A B\n\nText: here") == (
        "Title: My page\nAuthors: A B\n\nText: here◆"
    )
