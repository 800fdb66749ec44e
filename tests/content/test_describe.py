"""Tests of the description of files with any content."""

import json
from dataclasses import asdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.content import describe
from app.content.describe import MAX_BYTES

POST = (
    b"---\ntitle: Hello\ntags: [a, b]\ndraft: false\n---\n\n# Other\n\n## Details\n\nA [link](https://example.com/).\n"
)
NAMES = st.sampled_from(["a.md", "a.mdx", "a.html", "a.yaml", "a.njk", "a.png", "a", "a.txt", ""])


class TestDescribe:
    def test_describe_markdown_returns_all_facts(self) -> None:
        facts = describe("content/post.md", POST)
        assert (facts.encoding, facts.lines, facts.language, facts.mime) == ("utf-8", 11, "markdown", "text/markdown")
        assert facts.front_matter == {"title": "Hello", "tags": ["a", "b"], "draft": False}
        assert facts.title == "Hello"
        assert [heading["text"] for heading in facts.headings] == ["Other", "Details"]
        assert [link["url"] for link in facts.links] == ["https://example.com/"]
        assert facts.problems == ()

    @pytest.mark.parametrize(
        "data", [b"\xef\xbb\xbf" + POST, POST.replace(b"\n", b"\r\n"), POST.decode().encode("utf-16")]
    )
    def test_front_matter_with_a_byte_order_mark_or_any_line_end_is_read(self, data: bytes) -> None:
        assert describe("a.md", data).front_matter == describe("a.md", POST).front_matter

    @pytest.mark.parametrize(
        ("data", "title"),
        [
            (b"# First\n\n# Second\n", "First"),
            (b"## Second level\n", None),
            (b"---\ntitle: ''\n---\n# H\n", "H"),
            (b"---\ntitle: [a]\n---\n# H\n", "H"),
            (b"---\ntitle: 2024\n---\n# H\n", "2024"),
            (b"---\ntitle: true\n---\n", None),
            (b"+++\nTitle = 'T'\n+++\n", "T"),
            (b"", None),
        ],
    )
    def test_title_is_that_of_the_front_matter_or_the_first_heading(self, data: bytes, title: str | None) -> None:
        assert describe("a.md", data).title == title
        assert describe("a.md", data, outline=False).title == title

    def test_describe_without_outline_has_no_headings_and_links(self) -> None:
        facts = describe("a.md", POST, outline=False)
        assert (facts.headings, facts.links, facts.title, facts.lines) == ([], [], "Hello", 11)

    @pytest.mark.parametrize("path", ["a.astro", "a.yaml", "a.js", "a", "a.json"])
    def test_dashes_in_other_file_types_are_not_front_matter(self, path: str) -> None:
        assert describe(path, POST).front_matter is None

    def test_describe_binary_file_returns_its_type(self) -> None:
        facts = describe("a.png", b"\x89PNG\r\n\x1a\n\0")
        assert (facts.encoding, facts.lines, facts.mime, facts.front_matter) == (None, None, "image/png", None)
        assert describe("a.md", b"\0\1\2\xff").title is None
        assert describe("unknown", b"\0").mime == "application/octet-stream"

    def test_describe_unknown_text_returns_plain_text_facts(self) -> None:
        facts = describe("unknown", b"caf\xe9\n")
        assert (facts.encoding, facts.lines, facts.language, facts.mime) == ("latin-1", 1, None, "text/plain")

    def test_faulty_front_matter_is_a_problem(self) -> None:
        facts = describe("a.md", b"---\na: b: c\n---\n# Still read\n")
        assert (facts.front_matter, facts.title, len(facts.problems)) == (None, "Still read", 1)

    def test_large_file_is_described_from_its_start(self) -> None:
        facts = describe("a.md", POST + b"word\n" * (MAX_BYTES // 5) + "é".encode())
        assert (facts.title, facts.encoding, facts.lines) == ("Hello", "utf-8", 11 + MAX_BYTES // 5 + 1)
        assert facts.problems == ("The file is too large to be read completely",)

    @example("a.md", b"---\n\xff\n---\n")
    @example("a.md", b"\xff\xfe-\0-\0-\0\n\0\xd8")
    @given(NAMES, st.binary() | st.binary().map(lambda tail: b"---\n" + tail + b"\n---\n") | st.text().map(str.encode))
    def test_any_bytes_return_facts_that_fit_json(self, path: str, data: bytes) -> None:
        facts = asdict(describe(path, data))
        told = json.dumps(facts, allow_nan=False, ensure_ascii=False).encode()
        assert b"\\u0000" not in told
