"""Generated texts that repeat the tokens of formats, and the readers of texts of repositories."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from app.content.describe import describe
from app.content.front_matter.editor import edit_front_matter
from app.content.links import find_links
from app.content.page_text import read_page
from app.content.schema.archetypes import read_archetype
from app.content.schema.model import Collection, EntryTemplate, SourceKind
from app.content.schema.new_entry import new_entry
from app.content.schema.patterns import matches
from app.content.search_query import parse
from app.content.search_text import read_text
from app.drivers.git.commit_message import co_authors_of, create_git_commit_message
from app.resources.project_content.schema.schema_sources import READERS as SCHEMA_READERS
from app.resources.project_content.search.file_search import make_snippet
from app.runtimes.failure import hint_for
from app.runtimes.python_sites import mkdocs_packages

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TOKENS = (
    *("{{", "}}", "{%", "{{< ref ", "{{< figure src=", '\\"', '"', "'", "''", '"""', "'''", "\\", "`", "```\n", "~~~\n", "` `` "),
    *("- ", "- - ", "-\n", "[", "[[", "[a](", "![", "](", "]:", "]", "(", "()", "{", "{a: ", "}", "*", "**", "**/", "_", "/", "? "),
    *("&a ", "*a ", "<<: *a\n", "&a [*a, ", "!!str ", "a: ", "a: b\n", "a: |\n", ": ", ",", ", ", "#", "# a\n", "## ", "> ", "1. ", "| a "),
    *("a.", "a.a", '"a".', "a = 1\n", "a = [", "[a.b]\n", "[[a]]\n", "a = {", "1", "1.", "1_", "0x", "2020-01-01", "+", "e", "\\u1234"),
    *("<", "<a ", "<b>", "<!--", "href=", "href=\"", "<title>", "&", "&amp;", "url(", "http://", "@", "=", "==\n", "---\n", "+++\n", ";;;\n"),
    *(" ", "  ", "\t", "\n", "\n\n", "\r", "\r\n", " \n", "a", "ab", "a ", "é", "日本", "\u2028", "\ufdfa", "\0", "\x1b[", "\x1b]", "\x1bP"),
    *("co-authored-by:", "Co-authored-by: a <b>\n", "signed-off-by: ", "Conflicts:\n", "/*", "//", "/* */", '{"a":"', '"a":1,', "1,"),
    *("Error: ", "404 '", "ERR_PNPM_FETCH_404 ", "registry", "code EBADENGINE\n", "Required: ", '"node":"', "spawn ", "lookup "),
)  # fmt: skip
SIZES = (100, 1_000, 4_000)
LARGE, LARGE_SHARE = 64 * 1024, 0.02


def hostile_text(dice: random.Random) -> str:
    """Return a text of a few tokens that are repeated, alternated or mixed, with a start and an end."""
    size = LARGE if dice.random() < LARGE_SHARE else dice.choice(SIZES)
    parts: list[str] = []
    for _ in range(dice.randint(1, 3)):
        tokens = [dice.choice(TOKENS) for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 8)))]
        unit = "".join(tokens)
        if dice.random() < 0.2:
            unit = "".join(f"{token}{dice.randrange(1_000)}" for token in tokens)
        parts.append(unit * (size // len(unit) + 1))
    start, end = dice.choice(TOKENS), dice.choice(TOKENS)
    return start + "".join(part[: size // len(parts)] for part in parts) + end


def _fenced(fence: str, text: str) -> bytes:
    return f"{fence}\nz: 1\n{text}\n{fence}\nbody\n".encode("utf-8", "replace")


def _schema(kind: SourceKind, path: str, start: str) -> Callable[[str], object]:
    return lambda text: SCHEMA_READERS[kind](path, (start + text).encode("utf-8", "replace"))


def _edit(fence: str, first: str) -> Callable[[str], object]:
    """Return an edit of one key, and an edit that writes the text as its value."""

    def edit(text: str) -> object:
        before = f"{fence}\n{first}\n{text}\n{fence}\nbody\n".encode("utf-8", "replace")
        plain = f"{fence}\n{first}\n{fence}\n".encode()
        return _attempt(lambda: edit_front_matter("a.md", before, {"z": 2})), edit_front_matter(
            "a.md", plain, {"z": text}
        )

    return edit


def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ValueError as error:
        return error


def _search(text: str) -> object:
    question = parse(text[:500])
    return read_text("a.md", text.encode("utf-8", "replace")), make_snippet(text, question.terms)


def _entry(text: str) -> object:
    template = EntryTemplate(text[:500], {"title": text}, text)
    return new_entry(Collection("a", "a", "*.md", template=template), "a", title="A", now=NOW)


def _message(text: str) -> object:
    written = _attempt(lambda: create_git_commit_message(text, (("Co-authored-by", "A <a@b.test>"),), text))
    return written, _attempt(lambda: create_git_commit_message(text, ())), co_authors_of(text)


def _pattern(text: str) -> object:
    kinds = ("*", "**", "**/", "{a,aa}", "a", "/", text[:3])
    pattern = "".join(kinds[ord(character) % len(kinds)] for character in text[:40])
    paths = (text[:1_000], "a" * 255, "a/" * 500, ("a" * 200 + "/") * 5)
    return [matches(Collection("a", "", one), path) for one in (pattern, text[:200]) for path in paths]


READERS: dict[str, Callable[[str], object]] = {
    "galley": _schema(SourceKind.GALLEY, ".galley.yml", "collections:\n- name: a\n  folder: a\n  fields: "),
    "decap": _schema(
        SourceKind.DECAP, "admin/config.yml", "backend: 1\ncollections:\n- name: a\n  folder: a\n  fields: "
    ),
    "pages cms": _schema(SourceKind.PAGES_CMS, ".pages.yml", "content:\n- name: a\n  path: "),
    "front matter cms": _schema(SourceKind.FRONT_MATTER, "frontmatter.json", '{"frontMatter.content.pageFolders":'),
    "archetype": lambda text: read_archetype("archetypes/a.md", _fenced("---", text)),
    "page template": _entry,
    "yaml": lambda text: read_page("a.md", _fenced("---", text)),
    "toml": lambda text: read_page("a.md", _fenced("+++", text.replace("z: 1", "z = 1"))),
    "json": lambda text: read_page("a.md", _fenced(";;;", text)),
    "edit of yaml": _edit("---", "z: 1"),
    "edit of toml": _edit("+++", "z = 1"),
    "edit of json": _edit(";;;", '"z": 1,'),
    "message": _message,
    "outline": lambda text: describe("a.mdx", text.encode("utf-8", "replace")),
    "links": lambda text: find_links(text, {"a": text.split("\n")}),
    "search": _search,
    "page text": lambda text: read_page("a.md", text.encode("utf-8", "replace")),
    "pattern": _pattern,
    "preview log": lambda text: [hint_for("exit", text, (), is_serving=is_serving) for is_serving in (True, False)],
    "mkdocs": lambda text: mkdocs_packages(text.encode("utf-8", "replace")),
}
"""Readers that accept every text. An error that is not a ValueError is a fault."""


def reproductions() -> Iterator[tuple[str, str]]:
    """Yield texts that stopped a process, with their reader."""
    yield "archetype", "{{" * 100_000
    yield "page template", "{{" * 100_000
    yield "front matter cms", '"' + '\\"' * 100_000
    yield "front matter cms", "/* " * 60_000
    yield "message", "co-authored-by:" + " " * 10_000
    yield "toml", "a." * 5_000 + "a = 1"
    yield "edit of toml", "".join(".".join(["a"] * 30) + f".b{number} = 1\n" for number in range(250))
    yield "preview log", "\n" * 100_000
    yield "preview log", ("ERR_PNPM_FETCH_404 " + "registry" * 20 + "/" * 150 + "a" * 1_000 + "\n") * 100
    yield "pattern", "*a" * 8
