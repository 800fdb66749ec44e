"""Tests of headings and links in bounded time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.describe import MAX_CHARACTERS, MAX_ITEMS, Outline, read_outline
from tests.support.watchdog import watchdog

N = MAX_CHARACTERS
MARKS = st.lists(
    st.sampled_from([*"#[]()<>!*_`\\-=|&;:'\"~ \n\t", "](", "http://a", "    ", "<a ", "{x}", "[a]: b"]), max_size=60
).map("".join)
HOSTILE = {
    "brackets": "[" * N, "images": "![" * (N // 2), "open links": "[a](" * (N // 4), "ticks": "`a" * (N // 2), "angles": "<a@" * (N // 3),
    "stars": "*a_ " * (N // 4), "quotes": ">" * N, "nested list": "- " * (N // 2), "list": "- a\n" * (N // 4), "empty": "\n" * N,
    "references": "[a]: b\n" * (N // 7), "open references": "[\n" * (N // 2), "table": "|a" * (N // 2) + "\n" + "|-" * (N // 2),
    "quoted lists": "> - > - > - a\n" * (N // 14), "tags": "<a " * (N // 3), "entities": "&a" * (N // 2), "comments": "<!--" * (N // 4),
}  # fmt: skip


def headings(text: str, *, mdx: bool = False) -> list[tuple[int, str, str]]:
    return [(h["level"], h["text"], h["slug"]) for h in read_outline(text, mdx=mdx).headings]


class TestHeadings:
    def test_headings_have_level_text_and_slug(self) -> None:
        text = "# A *b* `c` [d](e) &amp; ![f](g)\n\nSetext\n===\n\n### Hello, World!\n"
        assert headings(text) == [
            (1, "A b c d & f", "a-b-c-d--f"),
            (1, "Setext", "setext"),
            (3, "Hello, World!", "hello-world"),
        ]

    def test_headings_with_equal_text_have_different_slugs(self) -> None:
        assert [slug for _, _, slug in headings("# A\n# A\n# Ü 日\n# A\n")] == ["a", "a-1", "ü-日", "a-2"]

    @pytest.mark.parametrize(
        ("title", "slug"),
        [
            ("हिन्दी में जानकारी", "हिन्दी-में-जानकारी"),
            ("ภาษาไทยสวัสดี", "ภาษาไทยสวัสดี"),
            ("বাংলা তথ্য!", "বাংলা-তথ্য"),
            ("日本語のタイトル。", "日本語のタイトル"),
            ("Über café", "über-café"),
            ("தமிழ் (மொழி)", "தமிழ்-மொழி"),
        ],
    )
    def test_slugs_have_the_marks_of_letters(self, title: str, slug: str) -> None:
        assert headings(f"# {title}\n") == [(1, title, slug)]

    def test_headings_in_code_and_comments_are_ignored(self) -> None:
        assert headings("```\n# no\n```\n\n    # no\n\n<!-- \n# no\n-->\n\n#no\n\n`# no`\n") == []

    def test_headings_of_mdx_can_be_indented(self) -> None:
        text = "import A from 'a'\n\n<Card a={1}>\n\n    # In\n\n</Card>\n\n{/* c */}\n"
        assert headings(text, mdx=True) == [(1, "In", "in")]

    def test_headings_with_windows_line_ends_are_read(self) -> None:
        assert headings("# A\r\n\r\n## B\r\n") == [(1, "A", "a"), (2, "B", "b")]


class TestLinks:
    def test_links_have_url_text_and_kind(self) -> None:
        text = "A [*b* c](/d \"e\"), ![f](g.png), <http://h.example>, [i][j] and [![k](l.svg)](m).\n\n[j]: n 'o'\n"
        assert read_outline(text).links == [
            {"url": "/d", "text": "b c", "kind": "link"},
            {"url": "g.png", "text": "f", "kind": "image"},
            {"url": "http://h.example", "text": "http://h.example", "kind": "link"},
            {"url": "n", "text": "i", "kind": "link"},
            {"url": "m", "text": "k", "kind": "link"},
            {"url": "l.svg", "text": "k", "kind": "image"},
        ]

    def test_links_in_headings_lists_and_tables_are_read(self) -> None:
        text = "# [a](1)\n\n- [b](2)\n\n> [c](3)\n\n| [d](4) |\n|---|\n| [e](5) |\n"
        assert [link["url"] for link in read_outline(text).links] == ["1", "2", "3", "4", "5"]

    def test_links_in_code_are_ignored(self) -> None:
        assert read_outline("`[a](b)`\n\n    [c](d)\n\n\\[e](f)\n").links == []

    def test_links_with_script_urls_are_returned_unchanged(self) -> None:
        assert read_outline("[a](javascript:alert)").links[0]["url"] == "javascript:alert"


class TestBounds:
    def test_outline_of_a_short_text_is_complete(self) -> None:
        assert read_outline("# A\n" * 100).whole

    @pytest.mark.parametrize("text", ["# A\n" * (MAX_ITEMS + 1), "- a\n" * 60_000, "x" * (MAX_CHARACTERS + 1)])
    def test_outline_of_a_truncated_text_is_marked_incomplete(self, text: str) -> None:
        outline = read_outline(text)
        assert not outline.whole
        assert len(outline.headings) <= MAX_ITEMS

    @pytest.mark.parametrize("name", HOSTILE)
    def test_outline_of_hostile_text_takes_bounded_time(self, name: str) -> None:
        with watchdog():
            assert isinstance(read_outline(HOSTILE[name]), Outline)

    @given(st.text() | MARKS, st.booleans())
    def test_outline_of_any_text_has_valid_levels(self, text: str, mdx: bool) -> None:
        for heading in read_outline(text, mdx=mdx).headings:
            assert 1 <= heading["level"] <= 6
