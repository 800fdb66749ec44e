"""Tests of the position of a mark in the text of a block. `|` is the mark, `^` that of an alternative text."""

import pytest

from app.content.marks.text_ends import text_end

CASES = {
    "plain text": "plain text|",
    "ends with a dot.": "ends with a dot.|",
    "spaces at the end  ": "spaces at the end|  ",
    "**bold.**": "**bold.|**",
    "_all_": "_all|_",
    "***both***": "***both|***",
    "~~old~~": "~~old|~~",
    'said "hello"': 'said "hello|"',
    'said "hello".': 'said "hello|".',
    "the boys'": "the boys|'",
    "five * three *": "five * three| *",
    "with `code`": "with `code`|",
    "**with `code`**": "**with `code`|**",
    "a [link](https://a.example/b)": "a [link](https://a.example/b)|",
    "a [link](https://a.example/b).": "a [link](https://a.example/b).|",
    "an [entry][reference]": "an [entry][reference]|",
    "[a.example](https://a.example)": "[a.example|](https://a.example)",
    "[**all** _bold_](b.md)": "[**all** _bold|_](b.md)",
    "[name]:": "[name]|:",
    "a note[^1]": "a note[^1]|",
    "an <https://a.example>": "an <https://a.example>|",
    "see https://a.example/b": "see| https://a.example/b",
    "see **https://a.example**": "see| **https://a.example**",
    "mail a@b.example now": "mail a@b.example now|",
    "mail a@b.example": "mail| a@b.example",
    "a [link]({{ site.a.b }}/c.json).": "a [link]({{ site.a.b }}/c.json).|",
    "a line\n[name]: /url": "a line|\n[name]: /url",
    'a line\n\n[name]: /url "Title"\n[b]: <c>': 'a line|\n\n[name]: /url "Title"\n[b]: <c>',
    "a line\n[name]: is a text": "a line\n[name]: is a text|",
    "a line\n(target)=": "a line|\n(target)=",
    "(target)=\na line": "(target)=\na line|",
    "a title %{#name}%": "a title| %{#name}%",
    "标题 %{#name .class}%": "标题| %{#name .class}%",
    "a :smile:": "a :smile:|",
    "x (a)=": "x (a)|=",
    "a :badge{type=new}": "a :badge{type=new}|",
    'a line\n::github{repo="a/b"}': 'a line|\n::github{repo="a/b"}',
    'title <a id="x"></a>': 'title <a id="x"></a>|',
    "some <b>bold</b>": "some <b>bold</b>|",
    "line<br>": "line|<br>",
    "first\nsecond": "first\nsecond|",
    "first  \nsecond  ": "first  \nsecond|  ",
    "escaped \\*": "escaped \\*|",
    "backslash\\": "backslash|\\",
    "line\nbreak\\\n:::": "line\nbreak|\\\n:::",
    "two\\\\": "two\\\\|",
    "C#": "C|#",
    "text {#id}": "text| {#id}",
    "text\n{: .lead}": "text|\n{: .lead}",
    "*text*{:.a}": "*text*{:.a}|",
    "text ^note-1": "text| ^note-1",
    "text {{< icon >}}": "text| {{< icon >}}",
    "text\n{{< /note >}}": "text|\n{{< /note >}}",
    "text\n:::": "text|\n:::",
    "[ ] task": "[ ] task|",
    "![An image here](a.png)": "![An image here^](a.png)",
    "[![An image here](a.png)](b.html)": "[![An image here^](a.png)](b.html)",
    "text ![An image here](a(1).png)": "text ![An image here^](a(1).png)",
    "関する情報": "関する情報|",
}
UNMARKED = (
    *("", "  ", "...", "***", "[TOC]", "[[toc]]", "[[_TOC_]]", "{{ x }}", "{% include a %}", "https://a.example"),
    *("![](a.png)", "![icon](a.png)", "![a b|300](a.png)", "![[page]]", "![a b][c]", "![a b](c.png){.left}"),
    *("text <Component />", "text <img src=a>", "</Component>", "<!-- note -->", "$$x$$", "[^1]: note", "*[A]: b"),
    *(
        '<a id="x"></a>',
        "(my/target)=",
        ":orphan:",
        "</p> <br/>",
        '::github{repo="a/b"}',
        "[name]: /url",
        "text {{ a.b/c d }}|",
        "{{ a https://b.c }}",
    ),
    *(
        "!!! note",
        "::: tip",
        '=== "Tab"',
        "--8<-- a.md",
        "*.md",
        "NOTE:",
        "! NOTE: **The title.**",
        "@include",
        "import A from 'a'",
        "| a | b |",
        "x |",
    ),
)


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_mark_ends_the_text(text: str, expected: str) -> None:
    end = text_end(text)
    assert end is not None
    assert text[: end.position] + "|^"[end.is_alt] + text[end.position :] == expected


@pytest.mark.parametrize("text", UNMARKED)
def test_other_texts_have_no_mark(text: str) -> None:
    assert text_end(text) is None


def test_attributes_of_a_heading_need_no_space() -> None:
    end = text_end("Title{#id}", is_heading=True)
    assert end is not None
    assert end.position == len("Title")


@pytest.mark.parametrize(
    "part", ["{{ a }} ", ":::\n", "https://a.example ", "* ", "[", "![", "](", "{: .a} ", "\\", "`a "]
)
def test_hostile_texts_have_an_answer(part: str) -> None:
    end = text_end("Text " + part * 50_000)
    assert end is None or end.position <= 5 + len(part) * 50_000
