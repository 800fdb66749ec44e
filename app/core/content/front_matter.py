"""Cutting a file's front matter from its text and reading it; knows which kinds of file have some."""

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any, NamedTuple

from app.core.content.values import Budget, plain
from app.core.content.yaml_values import read_yaml

MAX_CHARACTERS = 64 * 1024
# Not `astro`: what stands between its dashes is code.
LANGUAGES = frozenset((
    "markdown", "mdx", "markdoc", "html", "nunjucks", "liquid", "handlebars", "ejs", "pug", "haml", "slim", "webc", "twig",
    "go-template", "asciidoc", "restructuredtext", "org", "textile", "svelte", "text",
))  # fmt: skip
_OPENING = re.compile(r"(---|\+\+\+|;;;)(yaml|toml|json)?[ \t]*\r?\n", re.IGNORECASE)
_JSON_OPENING = re.compile(r"\{[ \t]*\r?\n")
# Hugo takes any text that begins with a brace; here it takes an object, and nothing but white space in the line that it
# ends in and in the next one, so that neither JSON lines nor a sentence that begins with braces lose anything.
_JSON_IN_LINE = re.compile(r'\{[ \t]*"')
_BLANK = re.compile(r"[ \t]*(?:\r?\n[ \t]*(?:\r?\n|\Z)|\Z)")


class FrontMatter(NamedTuple):
    """The values, None where there are none; the text behind them; and what was wrong, as a sentence."""

    values: dict[str, Any] | None
    body: str
    problem: str | None = None


class Block(NamedTuple):
    """Where front matter stands in a text: what it is written in, its own text, and where the body begins."""

    language: str
    start: int
    end: int
    body: int


def find_block(text: str) -> Block | None:
    """YAML between `---`, TOML between `+++`, JSON between `;;;` or in `{ }` at the start of a text; unread."""
    if opening := _OPENING.match(text):
        return _between_fences(text, opening)
    in_line = _JSON_IN_LINE.match(text)
    if not in_line and not _JSON_OPENING.match(text):
        return None
    try:
        _, end = _DECODER.raw_decode(text[:MAX_CHARACTERS])
    except (ValueError, RecursionError):
        return None
    if in_line and not _BLANK.match(text, end):
        return None
    return Block("json", 0, end, end + len(text) - end - len(text[end:].lstrip("\r\n")))


def split_front_matter(text: str) -> FrontMatter:
    """Take the front matter from the start of a text, and read it.

    Faulty front matter gives a problem and no values, and is still cut off. Text between two rules (`---`) that is no
    mapping is text.
    """
    block = find_block(text)
    if block is None:
        fault = "The front matter cannot be read: it is not a JSON object" if _JSON_OPENING.match(text) else None
        return FrontMatter(None, text, fault)
    values, problem = _read(_READERS[block.language], text[block.start : block.end])
    if problem is None and not isinstance(values, dict):
        return FrontMatter(None, text)
    return FrontMatter(values, text[block.body :], problem)


def _between_fences(text: str, opening: re.Match[str]) -> Block | None:
    fence, language = opening[1], (opening[2] or "").lower()
    closing = re.compile(rf"^{re.escape(fence)}[ \t]*\r?$", re.MULTILINE).search(text, opening.end())
    if closing is None:
        return None
    told = language or {"---": "yaml", "+++": "toml", ";;;": "json"}[fence]
    return Block(told, opening.end(), closing.start(), closing.end() + text.startswith("\n", closing.end()))


def _read(read: Callable[[str], Any], inner: str) -> tuple[Any, str | None]:
    if len(inner) > MAX_CHARACTERS:
        return None, "The front matter is too long"
    try:
        return read(inner), None
    except (ValueError, RecursionError) as fault:
        return None, f"The front matter cannot be read: {str(fault)[:200]}"


def _read_yaml(inner: str) -> Any:
    value = read_yaml(inner)
    return {} if value is None else value


def _read_toml(inner: str) -> Any:
    return plain(tomllib.loads(inner.replace("\r\n", "\n")), Budget())


def _read_json(inner: str) -> Any:
    trimmed = inner.strip()
    return plain(_DECODER.decode(trimmed if trimmed.startswith("{") else f"{{{trimmed}}}"), Budget())


_DECODER = json.JSONDecoder(parse_constant=str)
_READERS: dict[str, Callable[[str], Any]] = {"yaml": _read_yaml, "toml": _read_toml, "json": _read_json}
