"""Tests of the search data of a file."""

from app.content.search_text import MAX_SHOWN, has_text, read_text
from tests.support.watchdog import watchdog


class TestReadText:
    def test_page_has_title_body_field_terms_and_links(self) -> None:
        read = read_text(
            "a.md", b"---\ntitle: The Day\ntags: [x, Two words]\nog: {image: /a.png}\n---\nBody [l](b.md)\n"
        )
        assert read is not None
        assert (read.title, read.body) == ("The Day", "Body [l](b.md)\n")
        assert read.field_terms == ["=title=the", "=title=day", "=tags=x", "=tags=two", "=tags=words",
                                    "=og_image=a", "=og_image=png"]  # fmt: skip
        assert "body" in read.terms
        assert {link.url for link in read.links} == {"b.md", "/a.png"}

    def test_page_without_a_title_has_its_first_heading_as_title(self) -> None:
        read = read_text("a.md", b"words\n\n# Found *here* #\n")
        assert read is not None
        assert (read.title, read.field_terms) == ("Found *here*", ["=title=found", "=title=here"])

    def test_heading_with_many_signs_takes_bounded_time(self) -> None:
        text = b"# a" + b"#" * (MAX_SHOWN - 9) + b" b\n"
        with watchdog():
            assert all(read_text("a.md", text) for _ in range(100))

    def test_faulty_front_matter_keeps_the_text(self) -> None:
        read = read_text("a.md", b"---\ntitle: [unclosed\n---\nfindable\n")
        assert read is not None
        assert "findable" in read.terms

    def test_binary_file_has_no_text(self) -> None:
        assert read_text("a.md", b"\0\1\2") is None

    def test_large_text_is_truncated(self) -> None:
        read = read_text("a.txt", b"word " * 500_000)
        assert read is not None
        assert len(read.body) == MAX_SHOWN

    def test_read_text_reads_text_files_only(self) -> None:
        assert all(map(has_text, ("a.md", "b.yaml", "c.py", "d.txt", "e.astro")))
        assert not any(map(has_text, ("a.png", "b.svg", "c.csv", "d", "e.bin")))
