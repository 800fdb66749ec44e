"""Tests of the files that have marks."""

import pytest

from app.content.marks import MarkRules, mark_file
from app.content.marks.paths import MAX_BYTES
from tests.support.visible_marks import Marker

CONTENT = (
    *("README.md", "docs/a.md", "content/posts/a.mdx", "src/content/blog/a.mdoc", "_posts/2024-01-01-a.markdown"),
    *("data/team.yml", "_data/nav.json", "src/_data/site.toml", "src/content/authors/a.json", "i18n/en.toml"),
    *("content/a.html", "index.html"),
)
OTHER = (
    *("package.json", "mkdocs.yml", "_config.yml", "data/package.json", "src/_data/site.config.json", "hugo.toml"),
    *("layouts/a.html", "_layouts/a.html", "_includes/a.md", "themes/t/content/a.md", "node_modules/a/README.md"),
    *(".github/a.md", "archetypes/default.md", "src/components/a.md", "a.txt", "a.png", "src/a.ts", "docs/a.rst"),
)
TEXTS = {"md": "A text here\n", "html": "---\ntitle: A title here\n---\n<p>A text here</p>"}
DATA = {"json": '{"title": "A text here"}', "yml": "title: A text here\n", "toml": 'title = "A text here"\n'}


def text_of(path: str) -> bytes:
    ending = path.rpartition(".")[2]
    return {**TEXTS, **DATA}.get(ending, "A text here\n").encode()


@pytest.mark.parametrize("path", CONTENT)
def test_content_has_marks(path: str) -> None:
    assert mark_file(path, text_of(path), 0, MarkRules()) is not None


@pytest.mark.parametrize("path", OTHER)
def test_other_files_have_none(path: str) -> None:
    assert mark_file(path, text_of(path), 0, MarkRules()) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"---\ntitle: [\n---\nA text here\n",
        b"---\ntitle: A title here\nA text here\n",
        "A text hére".encode("latin-1"),
        "A text here".encode("utf-16"),
        b"A text here \0",
        b"A text here\n" * (MAX_BYTES // 12 + 1),
    ],
)
def test_unreadable_and_large_files_have_none(data: bytes) -> None:
    assert mark_file("docs/a.md", data, 0, MarkRules()) is None


@pytest.mark.parametrize("fence", ["---js", "---javascript", "--- js", "+++js"])
@pytest.mark.parametrize("separator", ["", "\n"])
def test_body_below_front_matter_in_another_language_has_marks(marker: Marker, fence: str, separator: str) -> None:
    header = f'{fence}\nconst title = "A title here";\n\nconst more = {{\n\ttext: "Some text",\n}};\n{fence[:3]}\n'
    body = f"{separator}# About\n\nA text here\n"
    marked = marker.text("docs/a.md", header + body)
    assert marked == header + body.replace("About", "About◆").replace("here", "here◆")


@pytest.mark.parametrize("path", ["content/a.html", "docs/a.md"])
def test_front_matter_in_another_language_without_end_has_no_marks(path: str) -> None:
    assert mark_file(path, b"---js\nA text here\n\nAnother text\n", 0, MarkRules()) is None
