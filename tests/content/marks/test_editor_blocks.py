"""Tests of the blocks of marks: they are the blocks of the formatted editor, which a script of its sources divides."""

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypedDict

import pytest

from app.content.marks import MarkRules, find_marks, mark_file
from app.content.marks.markdown_blocks import blocks_of
from app.content.page_text import read_page
from tests.support.console_assets import build_assets
from tests.support.samples.editorial_sites import astro_documentation, hugo_documentation, jekyll_blog
from tests.support.samples.markdown_pieces import PIECES

ROOT = Path(__file__).resolve().parents[3]
PAGES = 3_000
"""Generated pages."""

HEADERS = ("", "", "---\ntitle: A\n---\n", '---js\nconst title = "A";\n\n---\n')
"""Front matter of generated pages. The editor shows that in JavaScript as a part of the body."""


class Page(NamedTuple):
    """A page of Markdown or MDX."""

    path: str
    data: bytes


class EditorBlock(TypedDict):
    """A block of the editor. `type` is None for a source. Lines count from 1 in the body."""

    lines: list[int]
    type: str | None
    label: str
    source: str


def pages() -> Iterator[Page]:
    """Yield the documentation, the samples of sites, and generated pages."""
    for file in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        yield Page("docs/a.md", file.read_bytes())
        yield Page("docs/a.mdx", file.read_bytes())
    for files in (astro_documentation(), hugo_documentation(), jekyll_blog(20)):
        yield from (Page(path, data) for path, data in files.items() if path.endswith((".md", ".mdx")))
    source = random.Random(51)
    for _ in range(PAGES):
        text = "\n".join(source.choices(PIECES, k=source.randrange(1, 14)))
        text = source.choice(HEADERS) + text + source.choice(["", "\n"])
        text = text.replace("\n", source.choice(["\n", "\n", "\r\n"]))
        yield Page(source.choice(["docs/a.md", "docs/a.mdx"]), text.encode())


def body_of(page: Page) -> str:
    """Return the body as a form of the console has it: with line feeds."""
    text = read_page(page.path, page.data)
    assert text is not None
    return text.body.replace("\r\n", "\n").replace("\r", "\n")


@pytest.fixture(scope="module")
def editor_blocks(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Page, list[EditorBlock]]]:
    """Return the blocks of the editor for each page."""
    built, corpus = build_assets(), list(pages())
    texts = [{"text": body_of(page), "isMdx": page.path.endswith("x")} for page in corpus]
    file = tmp_path_factory.mktemp("blocks") / "texts.json"
    file.write_text(json.dumps(texts))
    command = [built.node(), "test/support/blocks.ts", file]
    done = subprocess.run(command, cwd=built.WORK, capture_output=True, text=True, timeout=120, check=True)
    return list(zip(corpus, json.loads(done.stdout), strict=True))


@pytest.mark.slow
class TestEditorBlocks:
    def test_blocks_are_those_of_the_editor(self, editor_blocks: list[tuple[Page, list[EditorBlock]]]) -> None:
        for page, blocks in editor_blocks:
            own = blocks_of(body_of(page), is_mdx=page.path.endswith("x"))
            assert [[block.first + 1, block.end] for block in own] == [block["lines"] for block in blocks], page

    def test_each_mark_opens_the_block_of_its_text(self, editor_blocks: list[tuple[Page, list[EditorBlock]]]) -> None:
        marks = 0
        for page, blocks in editor_blocks:
            marked = mark_file(page.path, page.data, 0, MarkRules())
            if marked is None:
                continue
            text, body_lines = marked.data.decode(), body_of(page).count("\n")
            above = page.data.decode().replace("\r\n", "\n").count("\n") - body_lines
            for mark in find_marks(text):
                position = marked.positions[mark.number]
                if position.block is None:
                    continue
                block = blocks[position.block]
                assert block["type"] not in (None, "card"), (page, block)
                assert [line - above for line in position.lines] == block["lines"], (page, block)
                line = text[: mark.start].replace("\r", "\n").rpartition("\n")[2]
                assert "".join(part for part in _without_marks(line)) in block["source"], (page, block)
                marks += 1
        assert marks > 5_000

    def test_almost_each_text_of_the_editor_has_a_mark(
        self, editor_blocks: list[tuple[Page, list[EditorBlock]]]
    ) -> None:
        texts, marked_texts = 0, 0
        for page, blocks in editor_blocks:
            if page.data.startswith(b"---js"):
                continue
            marked = mark_file(page.path, page.data, 0, MarkRules())
            numbers = {position.block for position in marked.positions} if marked is not None else set()
            shown = {index for index, block in enumerate(blocks) if block["type"] in ("paragraph", "heading", "table")}
            texts, marked_texts = texts + len(shown), marked_texts + len(shown & numbers)
        assert marked_texts > 0.8 * texts


def _without_marks(text: str) -> Iterator[str]:
    end = 0
    for mark in find_marks(text):
        yield text[end : mark.start]
        end = mark.end
    yield text[end:]
