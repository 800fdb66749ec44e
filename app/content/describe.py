"""Description of one file from any bytes. Headings and links are read in bounded time for every text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TypedDict

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from app.content.filetypes import BINARY, TEXT, file_type
from app.content.front_matter.reader import LANGUAGES, FrontMatter, split_front_matter
from app.content.text import count_lines, decode, marks

MAX_CHARACTERS = 128 * 1024
MAX_BLOCKS = 4_000
MAX_LINES = 10_000
MAX_ITEMS = 1_000
MAX_TEXT = 500
MAX_URL = 2_048
# Inside one paragraph the parser takes quadratic time on brackets that open nothing.
MAX_INLINE_CHARACTERS = 16 * 1024
MAX_INLINE_BRACKETS = 256
_WORTH_READING = re.compile(r"[\[<]")
MAX_BYTES = 1024 * 1024
MAX_TITLE = 500


class Heading(TypedDict):
    """A heading with its level from 1 to 6 and the id of its anchor."""

    level: int
    text: str
    slug: str


@dataclass
class Outline:
    """Headings, and links as `{url, text, kind}` (kind: link or image), in reading order."""

    headings: list[Heading] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    whole: bool = True


class _EnoughError(Exception):
    """The text contains more blocks than are parsed."""


def read_outline(text: str, *, mdx: bool = False) -> Outline:
    """Find headings and links in a text without front matter.

    `whole` is False if only a part of the text was parsed. In MDX, indented text is not code.
    """
    lines = text[:MAX_CHARACTERS].replace("\r\n", "\n").replace("\0", "\ufffd").split("\n", MAX_LINES)
    outline = Outline(whole=len(text) <= MAX_CHARACTERS and len(lines) <= MAX_LINES)
    parser = _MDX if mdx else _MARKDOWN
    env: dict[str, object] = {"blocks_left": MAX_BLOCKS}
    tokens: list[Token] = []
    try:
        parser.block.parse("\n".join(lines[:MAX_LINES]), parser, env, tokens)
    except _EnoughError:
        outline.whole = False
    slugs: dict[str, int] = {}
    for heading, token in _texts(tokens):
        inline, links = _read_inline(parser, token.content, env, as_text=heading is not None)
        outline.links += links
        if heading is not None:
            title = inline[:MAX_TEXT]
            outline.headings.append({"level": int(heading.tag[1]), "text": title, "slug": _slug(title, slugs)})
    outline.whole = outline.whole and max(len(outline.headings), len(outline.links)) <= MAX_ITEMS
    del outline.headings[MAX_ITEMS:], outline.links[MAX_ITEMS:]
    return outline


def _texts(tokens: list[Token]) -> Iterator[tuple[Token | None, Token]]:
    """Yield each inline token with its heading, if it is the text of one."""
    before: Token | None = None
    for token in tokens:
        if token.type == "inline":
            yield before if before is not None and before.type == "heading_open" else None, token
        before = token


def _read_inline(
    parser: MarkdownIt, content: str, env: dict[str, object], *, as_text: bool
) -> tuple[str, list[dict[str, str]]]:
    """Return the visible text (if `as_text`) and the links."""
    if len(content) > MAX_INLINE_CHARACTERS or content.count("[") > MAX_INLINE_BRACKETS:
        return content.strip(), []
    if not as_text and not _WORTH_READING.search(content):
        return "", []
    tokens: list[Token] = []
    parser.inline.parse(content, parser, env, tokens)
    return _join_text(tokens), list(_links(tokens))


def _links(tokens: list[Token]) -> Iterator[dict[str, str]]:
    for index, token in enumerate(tokens):
        if token.type == "image":
            yield _link(token.attrs.get("src"), token.content, "image")
        elif token.type == "link_open":
            end = next((n for n in range(index, len(tokens)) if tokens[n].type == "link_close"), len(tokens))
            yield _link(token.attrs.get("href"), _join_text(tokens[index:end]), "link")


def _link(url: object, text: str, kind: str) -> dict[str, str]:
    return {"url": str(url or "")[:MAX_URL], "text": text[:MAX_TEXT], "kind": kind}


def _join_text(tokens: list[Token]) -> str:
    return "".join(_token_text(token) for token in tokens).strip()


def _token_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type in ("text", "code_inline", "image", "text_special") else ""


def _slug(text: str, taken: dict[str, int]) -> str:
    """Return the fragment that GitHub gives a heading: lower case, hyphens for spaces, a number for duplicates."""
    slug = _not_in_slug(text.isascii()).sub("", text.lower()).replace(" ", "-")
    taken[slug] = taken.get(slug, -1) + 1
    return f"{slug}-{taken[slug]}" if taken[slug] else slug


@cache
def _not_in_slug(is_ascii: bool) -> re.Pattern[str]:
    return re.compile(r"[^\w\- ]" if is_ascii else rf"[^\w\- {marks()}]")


# The parameters are those of a rule.
def _count_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: ARG001
    state.env["blocks_left"] -= 1
    if state.env["blocks_left"] < 0:
        raise _EnoughError
    return False


def _parser(*without: str) -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").disable(list(without))
    parser.block.ruler.before("table", "count_block", _count_block)
    # Links are only listed, so an unknown scheme is accepted.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    return parser


_MARKDOWN = _parser()
_MDX = _parser("code")


@dataclass(frozen=True)
class FileDescription:
    """Properties of a file. `lines` is None for binary files. `problems` are messages for the person who edits it."""

    encoding: str | None
    lines: int | None
    language: str | None
    mime: str
    front_matter: dict[str, object] | None = None
    title: str | None = None
    headings: list[Heading] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    problems: tuple[str, ...] = ()


def describe(path: str, data: bytes, *, outline: bool = True) -> FileDescription:
    """Describe a file. Only the first MiB of a large file is parsed, but all its lines are counted.

    Without `outline`, headings and links are omitted unless the title needs them. This is six times faster.
    """
    kind = file_type(path)
    text, encoding = decode(data[:MAX_BYTES], whole=len(data) <= MAX_BYTES)
    if text is None:
        return FileDescription(None, None, kind.language, kind.mime or BINARY)
    front = split_front_matter(text) if kind.language in LANGUAGES else FrontMatter(None, text)
    title = _title(front.values)
    read = Outline()
    if kind.language in ("markdown", "mdx", "markdoc") and (outline or title is None):
        read = read_outline(front.body, mdx=kind.language == "mdx")
    headings = (heading["text"] for heading in read.headings if heading["level"] == 1 and heading["text"])
    cut = None if read.whole and len(data) <= MAX_BYTES else "The file is too large to be read completely"
    return FileDescription(
        encoding=encoding,
        lines=count_lines(data),
        language=kind.language,
        mime=kind.mime or TEXT,
        front_matter=front.values,
        title=title or next(headings, "")[:MAX_TITLE] or None,
        headings=read.headings if outline else [],
        links=read.links if outline else [],
        problems=tuple(problem for problem in (front.problem, cut) if problem),
    )


def _title(values: dict[str, object] | None) -> str | None:
    title = next((values[key] for key in ("title", "Title") if key in values), None) if values else None
    if isinstance(title, bool | dict | list) or title is None:
        return None
    return str(title).strip()[:MAX_TITLE] or None
