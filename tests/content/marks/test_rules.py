"""Tests of the rules of the values that are marked."""

from dataclasses import replace

import pytest

from app.content.marks import MarkRules, mark_rules
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField, SourceKind
from tests.support.visible_marks import Marker

FIELDS = (
    SchemaField("name", FieldType.STRING),
    SchemaField("intro", FieldType.TEXT),
    SchemaField("kind", FieldType.SELECT, options=("One two", "b")),
    SchemaField("people", FieldType.RELATION, collection="people", multiple=True),
    SchemaField("hero", FieldType.OBJECT, fields=(SchemaField("text", FieldType.STRING),)),
    SchemaField(
        "cards",
        FieldType.LIST,
        item=SchemaField(
            "", FieldType.OBJECT, fields=(SchemaField("style", FieldType.SELECT, options=("Wide card",)),)
        ),
    ),
    SchemaField("code", FieldType.STRING, pattern="[a-z]+ [a-z]+"),
    SchemaField("picture", FieldType.IMAGE),
    SchemaField("mixed", FieldType.MIXED),
)
SCHEMA = ContentSchema(
    SourceKind.DECAP, None, (Collection("posts", "content/posts", "**/*.md", FIELDS), Collection("all", "", "**/*.md"))
)
PAGE = """---
name: Pier
intro: An intro
kind: One two
people: [Jane Doe]
hero: {text: Word}
cards: [{style: Wide card}]
code: one two
picture: One two
mixed: Word
other: One two
---
"""


def test_declared_texts_are_marked(marker: Marker) -> None:
    marker.rules = MarkRules(SCHEMA)
    assert marker.pointers("content/posts/a.md", PAGE) == ["/name", "/intro", "/hero/text", "/other"]


def test_inferred_texts_are_marked_if_they_are_prose(marker: Marker) -> None:
    marker.rules = MarkRules(replace(SCHEMA, kind=SourceKind.INFERRED))
    assert marker.pointers("content/posts/a.md", PAGE) == ["/intro", "/other"]


def test_title_of_a_word_is_prose(marker: Marker) -> None:
    assert marker.pointers("docs/a.md", "---\ntitle: Contact\nheading: x\nname: Contact\n---\n") == ["/title"]


def test_text_without_spaces_is_prose(marker: Marker) -> None:
    assert marker.pointers("docs/a.md", "---\nname: 私たちについて\nkind: 東京\n---\n") == ["/name"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("layouts/index.html", '{{ if eq .Params.text "One two" }}'),
        ("assets/a.js", "if (text === 'One two') {}"),
        ("src/pages/index.astro", "{text === `One two`}"),
        ("hugo.toml", "[params]\na = 'One two'"),
        ("mkdocs.yml", "nav:\n- One two: a.md"),
        ("static/One two", ""),
        ("static/One two.pdf", ""),
    ],
)
def test_value_of_code_configuration_and_file_names_has_no_mark(marker: Marker, path: str, code: str) -> None:
    page = "---\ntext: One two\nother: Three four\n---\n"
    marker.rules = mark_rules(None, [("content/a.md", page.encode()), (path, code.encode())])
    assert marker.pointers("content/a.md", page) == ["/other"]


def test_value_of_three_entries_has_no_mark(marker: Marker) -> None:
    page = "---\ntext: One two\nother: Three four {}\n---\n"
    pages = [(f"content/{n}.md", page.replace("{}", "abc"[n]).encode()) for n in range(3)]
    marker.rules = mark_rules(None, pages)
    assert marker.pointers("content/0.md", pages[0][1].decode()) == ["/other"]
    marker.rules = mark_rules(None, pages[:2])
    assert marker.pointers("content/0.md", pages[0][1].decode()) == ["/text", "/other"]


def test_title_that_another_entry_refers_to_has_no_mark(marker: Marker) -> None:
    page = "---\ntitle: Our work\nsubtitle: All projects\n---\n"
    child = "---\ntitle: The child\nbelongs_to: Our work\nsubtitle: All projects\n---\n"
    marker.rules = mark_rules(None, [("content/a.md", page.encode()), ("content/b.md", child.encode())])
    assert marker.pointers("content/a.md", page) == ["/subtitle"]
    assert marker.pointers("content/b.md", child) == ["/title", "/subtitle"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("src/content.config.ts", "z.object({ title: z.string().max(60) })"),
        ("src/content.config.ts", "v.pipe(v.string(), v.maxLength(60))"),
        ("schema.json", '{"maxLength": 60}'),
    ],
)
def test_value_that_a_mark_makes_too_long_has_no_mark(marker: Marker, path: str, code: str) -> None:
    marker.rules = mark_rules(None, [(path, code.encode()), ("src/a.ts", b"Math.max(20, x)")])
    lengths = {length: f"---\ntitle: An {'b' * (length - 3)}\n---\n" for length in (20, 44, 45, 60, 61)}
    marked = [length for length, page in lengths.items() if marker.pointers("src/content/a.md", page)]
    assert marked == [20, 44, 61]


def test_item_of_two_lists_has_no_mark(marker: Marker) -> None:
    page = "---\nareas: [One two, Three four]\n---\n"
    marker.rules = mark_rules(
        None, [("content/a.md", page.encode()), ("content/b.md", b"---\nareas: [One two]\n---\n")]
    )
    assert marker.pointers("content/a.md", page) == ["/areas/1"]


def test_value_that_a_page_misplaced_has_no_mark(marker: Marker) -> None:
    page = "---\ntext: One two\nother: Three four\n---\n"
    marker.rules = mark_rules(None, [], unmarked=frozenset({("content/a.md", "/text")}))
    assert marker.pointers("content/a.md", page) == ["/other"]
    assert marker.pointers("content/b.md", page) == ["/text", "/other"]


def test_markdown_can_be_mdx(marker: Marker) -> None:
    text = "First\n\n{a.b} here\n\nLast\n"
    assert marker.text("docs/a.md", text).count("◆") == 3
    marker.rules = mark_rules(None, [], reads_markdown_as_mdx=True)
    assert marker.text("docs/a.md", text).count("◆") == 2
