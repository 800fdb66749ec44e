"""Tests of the marks in front matter and data files: the marked document has the same values with marks."""

import json
import random

import pytest

from app.content.data_text import read_data
from app.content.front_matter.reader import split_front_matter
from app.content.marks import strip_marks
from tests.support.visible_marks import MARK, Marker

YAML = {
    "plain": ("title: A title here", "title: A title here◆"),
    "comment": ("title: A title here # note", "title: A title here◆ # note"),
    "several lines": ("text: One line\n  and another\nn: 1", "text: One line\n  and another◆\nn: 1"),
    "double quotes": ('text: "One \\"two\\" \\u00e9 three"  ', 'text: "One \\"two\\" \\u00e9 three◆"  '),
    "double quotes, several lines": ('text: "One\n  two\n  three"', 'text: "One\n  two\n  three◆"'),
    "single quotes": ("text: 'It''s here'", "text: 'It''s here◆'"),
    "escapes at the end": ('text: "One \\"two\\""', 'text: "One \\"two\\"◆"'),
    "quotes at the end": ("text: 'One ''two'''", "text: 'One ''two''◆'"),
    "literal": ("text: |\n  One two\n  three\n\nn: 1", "text: |\n  One two\n  three◆\n\nn: 1"),
    "literal without line end": ("text: |-\n  One two", "text: |-\n  One two◆"),
    "literal with all line ends": ("text: |+\n  One two\n\n\nn: 1", "text: |+\n  One two◆\n\n\nn: 1"),
    "folded": ("text: >-\n  One two\n  three\n# note\nn: 1", "text: >-\n  One two\n  three◆\n# note\nn: 1"),
    "addresses of links at the end": (
        "text: |\n  A [link] here\n\n  [link]: /d\nn: 1",
        "text: |\n  A [link] here◆\n\n  [link]: /d\nn: 1",
    ),
    "paragraphs and items": (
        "text: |-\n  One **two**.\n\n  three\n  four\n\n  - five six\n  - see [seven]\n\n  [seven]: /d\nn: 1",
        "text: |-\n  One **two**.◆\n\n  three\n  four◆\n\n  - five six◆\n  - see [seven]◆\n\n  [seven]: /d\nn: 1",
    ),
    "code at the end": (
        "text: |\n  One two\n\n  ```\n  a b\n  ```\nn: 1",
        "text: |\n  One two◆\n\n  ```\n  a b\n  ```\nn: 1",
    ),
    "paragraphs of folded lines": ("text: >\n  One two\n\n  three\nn: 1", "text: >\n  One two\n\n  three◆\nn: 1"),
    "list": ("points:\n- One two\n- 'three four'", "points:\n- One two◆\n- 'three four◆'"),
    "list in brackets": ("points: [One two, three four]", "points: [One two◆, three four◆]"),
    "objects": (
        "cards:\n  - text: One two\n    n: 3\n  - {text: Three four}",
        "cards:\n  - text: One two◆\n    n: 3\n  - {text: Three four◆}",
    ),
    "anchor": ("a: &x\n  text: One two\nb: *x", "a: &x\n  text: One two◆\nb: *x"),
    "Markdown": ("text: One **two**", "text: One **two◆**"),
    "address": ("text: See https://a.example/b", "text: See◆ https://a.example/b"),
    "quoted key": ("'my text': One two", "'my text': One two◆"),
    "key that is a number": ("1: One two", "1: One two◆"),
}
TOML = {
    "basic": ('text = "One \\"two\\""', 'text = "One \\"two\\"◆"'),
    "literal": ("text = 'One two' # note", "text = 'One two◆' # note"),
    "several lines": ('text = """\nOne two\nthree"""', 'text = """\nOne two\nthree◆"""'),
    "paragraphs": ('text = """\nOne two\n\nthree\n"""', 'text = """\nOne two◆\n\nthree◆\n"""'),
    "several literal lines": ("text = '''\nOne two'''", "text = '''\nOne two◆'''"),
    "tables": (
        '[a."b.c"]\ntext = "One two"\n[[d]]\ntext = "Three four"\n[[d]]\n[d.e]\ntext = "Five six"',
        '[a."b.c"]\ntext = "One two◆"\n[[d]]\ntext = "Three four◆"\n[[d]]\n[d.e]\ntext = "Five six◆"',
    ),
    "array": (
        'text = [\n  "One two", # note\n  "three four",\n]',
        'text = [\n  "One two◆", # note\n  "three four◆",\n]',
    ),
    "inline table": (
        'a = {b = 1979-05-27T07:32:00Z, text = "One two"}',
        'a = {b = 1979-05-27T07:32:00Z, text = "One two◆"}',
    ),
    "dotted keys": ('a.b.text = "One two"\nn = 1.5', 'a.b.text = "One two◆"\nn = 1.5'),
}
JSON = {
    "object": ('{"text": "One two", "n": [1, {"text": "Three \\u00e9 four"}]}',
               '{"text": "One two◆", "n": [1, {"text": "Three \\u00e9 four◆"}]}'),
    "list": ('[{"text": "One two"}, {"text": "Three four"}]', '[{"text": "One two◆"}, {"text": "Three four◆"}]'),
    "escapes": ('{"text": "One \\\\ two\\n"}', '{"text": "One \\\\ two\\n◆"}'),
}  # fmt: skip
CASES = [
    *((f"---\n{text}\n---\n", f"---\n{marked}\n---\n", "docs/a.md") for text, marked in YAML.values()),
    *((f"+++\n{text}\n+++\n", f"+++\n{marked}\n+++\n", "docs/a.md") for text, marked in TOML.values()),
    *((f"{text}\n", f"{marked}\n", "data/a.yaml") for text, marked in YAML.values()),
    *((f"# note\n---\n{text}\n", f"# note\n---\n{marked}\n", "data/a.yml") for text, marked in YAML.values()),
    *((f"{text}\n", f"{marked}\n", "data/a.toml") for text, marked in TOML.values()),
    *((text, marked, "data/a.json") for text, marked in JSON.values()),
]
UNMARKED = (
    *("n: 12", "d: 2024-01-02", "d: 2024-01-02 10:00:00", "text: word", "text: !x One two", "text: true", "text: ~"),
    *("text: https://a.example/b", "text: /a/b c.png", "text: images/one two.png", "text: '{{ One two }}'"),
    *("text: Mon, 2 Jan 2006 15:04", "tags: [One two]", "seo: {title: One two}", "_text: One two", "layout: One two"),
    *("text: One two\ntext: Three four", "a: {<<: {text: One two}}", "body_class: one two"),
)


def values_of(path: str, text: str) -> object:
    return split_front_matter(text).values if path.endswith(".md") else read_data(path, text.encode())


@pytest.mark.parametrize(("text", "expected", "path"), CASES)
def test_mark_ends_the_content_of_a_value(marker: Marker, text: str, expected: str, path: str) -> None:
    assert marker.text(path, text) == expected
    marked = marker.file(path, text).data.decode()
    plain = strip_marks(json.dumps(values_of(path, marked), ensure_ascii=False), lambda _number: True)
    assert json.loads(plain) == values_of(path, text)


@pytest.mark.parametrize("text", UNMARKED)
def test_other_values_have_no_mark(marker: Marker, text: str) -> None:
    assert marker.text("docs/a.md", f"---\n{text}\n---\n") == f"---\n{text}\n---\n"


@pytest.mark.parametrize(
    ("path", "text", "pointers"),
    [
        ("docs/a.md", "---\na/b:\n  c~d:\n  - text: One two\n---\n", ["/a~1b/c~0d/0/text"]),
        ("data/a.json", '[{"text": "One two"}]', ["/0/text"]),
        ("data/a.toml", '[[a]]\n[[a]]\nb = [[1], ["One two"]]\n[[a.c]]\ntext = "Three four"\n', ["/a/1/b/1/0", "/a/1/c/0/text"]),
        ("data/a.toml", '[a]\n[[a.b]]\n[[a.b]]\n"c.d".e = "One two"\n', ["/a/b/1/c.d/e"]),
    ],
)  # fmt: skip
def test_pointer_names_the_value(marker: Marker, path: str, text: str, pointers: list[str]) -> None:
    assert marker.pointers(path, text) == pointers


def test_lines_are_those_of_the_value(marker: Marker) -> None:
    text = "---\r\nn: 1\r\ntext: |\r\n  One two\r\n  three\r\nother: Four five\r\n---\r\n"
    assert [position.lines for position in marker.file("docs/a.md", text).positions] == [(3, 5), (6, 6)]


def test_generated_documents_have_the_same_values(marker: Marker) -> None:
    source = random.Random(51)
    parts = ["One", "two", "'", '"', "#", ":", "-", "**", "\\", "é", ",", "]", "}", "|", ">", "%", "@", "&", "*"]
    for _ in range(400):
        values = {f"k{n}": " ".join(source.choices(parts, k=source.randrange(2, 7))) for n in range(4)}
        for path, text in (
            ("docs/a.md", f"---\n{json.dumps(values, ensure_ascii=False)}\n---\n"),
            ("data/a.json", json.dumps(values)),
            ("data/a.toml", "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())),
            ("data/a.yaml", "".join(f"{key}: {value}\n" for key, value in values.items())),
        ):
            before = values_of(path, text)
            after = values_of(path, marker.file(path, text).data.decode())
            assert json.loads(MARK.sub("", json.dumps(after, ensure_ascii=False))) == before
