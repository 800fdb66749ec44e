"""Tests of the search data of a file."""

from app.content.search_text import MAX_SHOWN, has_text, read_text, readable_text
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


MDX = """import X from '../x.astro';
import {
  A,
} from "@site/a"
export const meta = {a: 1}

# A *title*

> - **bold** and __strong__ snake_case and 2 * 3
1. `code` [link](/a/b) ![image](/x.png "t") [![inner](a.png)](/b) [name][reference]

{{< figure src="a.png" >}}
{% include note.html %}
:::note
| a | b |
|---|:--|
<Card title="x">In a card</Card> <https://example.org> \\*star\\* {#id}
<!-- hidden - text -->
```js
let a
```
import of goods
"""


class TestReadableText:
    def test_notation_of_a_page_is_removed(self) -> None:
        assert readable_text("a.mdx", MDX) == (
            "A title bold and strong snake_case and 2 * 3 code link image inner name a b In a card "
            "<https://example.org> *star* let a import of goods"
        )
        assert readable_text("a.py", "a = b ** c") == "a = b ** c"

    def test_hostile_text_is_read_in_time(self) -> None:
        with watchdog():
            for part in ("[", "<!--", "*", "_", "import ", "{{", "\\", "> ", "|-", " ", "[a](", "<a ", "`", "\t"):
                assert len(readable_text("a.md", (part * 16_384)[:16_384])) <= 16_384
