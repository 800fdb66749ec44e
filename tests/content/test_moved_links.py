"""Relative links of pages that move to another folder."""

import re
import time
from collections.abc import Mapping

import pytest

from app.content.moved_links import PageMove

FILES = frozenset(
    {
        "posts/pic.jpg",
        "posts/my pic (1).jpg",
        "posts/b.md",
        "posts/2025/deep.png",
        "images/x.png",
        "docs/price list.pdf",
        "posts/a/inner.png",
        "posts/both.png",
        "posts/a/both.png",
    }
)


def moved(
    text: str,
    old: str = "posts/a.md",
    new: str = "archive/2025/a.md",
    *,
    moves: Mapping[str, str] | None = None,
    generator: str | None = "astro",
) -> str:
    move = PageMove(old, new, {old: new} | dict(moves or {}), generator)
    data = text.encode()
    return move.rewritten(data, move.named(data) & FILES).decode()


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("![a](pic.jpg)", "![a](../../posts/pic.jpg)"),
        ("![a](./pic.jpg)", "![a](../../posts/pic.jpg)"),
        ('![a](../images/x.png "X")', '![a](../../images/x.png "X")'),
        ("![a](<my pic (1).jpg>)", "![a](<../../posts/my pic (1).jpg>)"),
        ("![a](my%20pic%20(1).jpg)", "![a](../../posts/my%20pic%20(1).jpg)"),
        ("[b](b.md#part)", "[b](../../posts/b.md#part)"),
        ("[pdf]: <../docs/price list.pdf> 'List'", "[pdf]: <../../docs/price list.pdf> 'List'"),
        ("[![a](pic.jpg)](../docs/price%20list.pdf)", "[![a](../../posts/pic.jpg)](../../docs/price%20list.pdf)"),
        ('<img src="pic.jpg?w=1" alt="">', '<img src="../../posts/pic.jpg?w=1" alt="">'),
    ],
)
def test_link_leads_to_the_same_file(link: str, expected: str) -> None:
    assert moved(f"{link} end\r\n") == f"{expected} end\r\n"
    back, dot = moved(expected, "archive/2025/a.md", "posts/a.md"), re.compile(r"(?<!\.)\./")
    assert dot.sub("", back) == dot.sub("", link)


@pytest.mark.parametrize(
    "link",
    [
        "![a](/images/x.png)",
        "![a](none.png)",
        "![a](https://example.org/pic.jpg)",
        "[b](../b/)",
        "[b](b)",
        "![a](both.png)",
        "`![a](pic.jpg)`",
        "```md\n![a](pic.jpg)\n```",
        "<!-- ![a](pic.jpg) -->",
        "![a](@/pic.jpg)",
        "a pic.jpg alone",
    ],
)
def test_link_to_no_file_or_of_the_site_stays(link: str) -> None:
    assert moved(link) == link


def test_link_becomes_short_in_the_folder_of_its_file() -> None:
    text = "![a](2025/deep.png) ![b](./2025/deep.png) ![c](../images/x.png)"
    assert moved(text, new="posts/2025/a.md") == "![a](deep.png) ![b](./deep.png) ![c](../../images/x.png)"
    assert moved("![c](../images/x.png)", new="images/a.md") == "![c](./x.png)"
    assert moved("![c](pic.jpg)", new="a.md") == "![c](posts/pic.jpg)"


def test_move_in_the_folder_changes_nothing() -> None:
    assert not PageMove("posts/a.md", "posts/c.md", {}, None).can_break
    assert not PageMove("posts/a.png", "other/a.png", {}, None).can_break


def test_files_that_move_with_the_page_have_the_same_links() -> None:
    files = {"posts/pic.jpg": "archive/2025/pic.jpg", "posts/b.md": "archive/b.md"}
    text = "![a](pic.jpg) [b](b.md) ![x](../images/x.png)"
    assert moved(text, moves=files) == "![a](pic.jpg) [b](../b.md) ![x](../../images/x.png)"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_changes_in_its_notation(end: str) -> None:
    yaml = ["---", "cover: 'pic.jpg'  # the pier", 'gallery: [{src: "../images/x.png"}, none.png]', "---", "", "x", ""]
    expected = ["---", "cover: '../../posts/pic.jpg'  # the pier", 'gallery: [{src: "../../images/x.png"}, none.png]']
    assert moved(end.join(yaml)) == end.join([*expected, *yaml[3:]])
    toml = ["+++", 'title = "A"', "", "[cover] # c", 'image = "./pic.jpg"', "+++", "![a](pic.jpg)", ""]
    assert moved(end.join(toml)) == end.join(
        [*toml[:4], 'image = "../../posts/pic.jpg"', "+++", "![a](../../posts/pic.jpg)", ""]
    )


def test_byte_order_mark_stays() -> None:
    assert moved("\ufeff---\ncover: pic.jpg\n---\n![a](pic.jpg)") == (
        '\ufeff---\ncover: "../../posts/pic.jpg"\n---\n![a](../../posts/pic.jpg)'
    )


def test_file_that_is_no_text_stays() -> None:
    data = b"![a](pic.jpg) \xff"
    move = PageMove("posts/a.md", "c/a.md", {}, None)
    assert move.named(data) == set()
    assert move.rewritten(data, FILES) == data


@pytest.mark.parametrize(
    ("generator", "old", "is_changed"),
    [
        ("hugo", "posts/a.md", False),
        ("hugo", "posts/index.md", True),
        ("jekyll", "_posts/a.md", False),
        ("jekyll", "posts/a.md", True),
        ("eleventy", "posts/a.md", True),
    ],
)
def test_address_of_the_built_site_stays(generator: str, old: str, is_changed: bool) -> None:
    files = {f"{old.partition('/')[0]}/pic.jpg", f"{old.partition('/')[0]}/b.md"}
    move = PageMove(old, "archive/2025/a.md", {}, generator)
    data = b"![a](pic.jpg) [b](b.md)"
    result = move.rewritten(data, move.named(data) & files)
    assert (b"(pic.jpg)" not in result) == is_changed
    assert b"(b.md)" not in result


def test_import_of_mdx_follows_the_page() -> None:
    text = 'import pic from "./pic.jpg";\nimport Card from "./Card";\n'
    assert moved(text, "posts/a.mdx", "archive/2025/a.mdx") == text.replace("./pic", "../../posts/pic")
    assert moved(text) == text


def test_many_links_are_rewritten_in_linear_time() -> None:
    text = "".join(f"![a](pic.jpg) `b` [c](b.md#{number})\n" for number in range(20_000)) + "`" * 20_000 + "![" * 20_000
    start = time.process_time()
    assert moved(text).count("../../posts/") == 40_000
    assert time.process_time() - start < 10
