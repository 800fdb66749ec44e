"""Search data of a file."""

from app.content.search_text import MAX_SHOWN, has_text, read_text
from tests.support.watchdog import watchdog


class TestReadText:
    def test_a_page_with_front_matter(self) -> None:
        read = read_text(
            "a.md", b"---\ntitle: The Day\ntags: [x, Two words]\nog: {image: /a.png}\n---\nBody [l](b.md)\n"
        )
        assert read is not None
        assert (read.title, read.body) == ("The Day", "Body [l](b.md)\n")
        assert read.field_terms == ["=title=the", "=title=day", "=tags=x", "=tags=two", "=tags=words",
                                    "=og_image=a", "=og_image=png"]  # fmt: skip
        assert "body" in read.terms
        assert {link.url for link in read.links} == {"b.md", "/a.png"}

    def test_a_heading_is_a_title_where_there_is_no_other(self) -> None:
        read = read_text("a.md", b"words\n\n# Found *here* #\n")
        assert read is not None
        assert (read.title, read.field_terms) == ("Found *here*", ["=title=found", "=title=here"])

    def test_a_heading_of_signs_is_read_once(self) -> None:
        text = b"# a" + b"#" * (MAX_SHOWN - 9) + b" b\n"
        with watchdog():
            assert all(read_text("a.md", text) for _ in range(100))

    def test_faulty_front_matter_keeps_the_text(self) -> None:
        read = read_text("a.md", b"---\ntitle: [unclosed\n---\nfindable\n")
        assert read is not None
        assert "findable" in read.terms

    def test_binary_bytes_are_no_text(self) -> None:
        assert read_text("a.md", b"\0\1\2") is None

    def test_of_a_large_text_the_beginning_is_kept(self) -> None:
        read = read_text("a.txt", b"word " * 500_000)
        assert read is not None
        assert len(read.body) == MAX_SHOWN

    def test_which_files_are_read(self) -> None:
        assert all(map(has_text, ("a.md", "b.yaml", "c.py", "d.txt", "e.astro")))
        assert not any(map(has_text, ("a.png", "b.svg", "c.csv", "d", "e.bin")))
