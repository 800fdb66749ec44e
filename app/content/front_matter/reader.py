"""Reader of the front matter of a text."""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from app.content.front_matter.toml_reader import read_toml
from app.content.front_matter.values import ValueBudget, WrittenFloat, plain
from app.content.front_matter.yaml_reader import read_yaml

MAX_CHARACTERS = 64 * 1024
# Not `astro`: the block between its dashes is code.
LANGUAGES = frozenset(
    (
        "markdown",
        "mdx",
        "markdoc",
        "html",
        "nunjucks",
        "liquid",
        "handlebars",
        "ejs",
        "pug",
        "haml",
        "slim",
        "webc",
        "twig",
        "go-template",
        "asciidoc",
        "restructuredtext",
        "org",
        "textile",
        "svelte",
        "text",
    )
)
# Hugo and Astro accept empty lines before the front matter, and several editors write a second byte order mark.
_LEAD = re.compile(r"\ufeff?(?:[ \t]*\r?\n)*+")
_OPENING = re.compile(r"(---|\+\+\+|;;;)(yaml|toml|json)?[ \t]*\r?\n", re.IGNORECASE)
_FENCES = {"---": "yaml", "+++": "toml", ";;;": "json"}
# Jekyll and Pandoc also accept the end of a YAML document.
_ENDS = {"---": r"(?:---|\.\.\.)", "+++": r"\+\+\+", ";;;": ";;;"}
_CLOSINGS = {fence: re.compile(rf"^{end}[ \t]*\r?$", re.MULTILINE) for fence, end in _ENDS.items()}
_COMMENTS = re.compile(r"\ufeff?(?:[ \t]*(?:\r?\n|<!--(?:[^-]|-(?!->))*+-->))*+")
# The first lines of front matter that `find_block` does not read, for example because it has no end.
_UNREAD = re.compile(
    r" {0,3}(?:---|\+\+\+|;;;)[ \t]*+\w*+[ \t]*+(?:\r\n?|\n)(?:[ \t]*(?:\#[^\r\n]*+)?(?:\r\n?|\n))*+"
    r"[ \t]*[\w\"'.-][\w\"'.$-]{0,99}[ \t]*[:=]"
)
_JSON_OPENING = re.compile(r"\{[ \t]*\r?\n")
# Hugo accepts any text that starts with a brace. Here, an object must be followed by the end of its line and an empty
# line, so that JSON lines and sentences that start with a brace are not cut.
_JSON_IN_LINE = re.compile(r'\{[ \t]*"')
_BLANK = re.compile(r"[ \t]*(?:\r?\n[ \t]*(?:\r?\n|\Z)|\Z)")
_DECODER = json.JSONDecoder(parse_constant=str)


class FrontMatter(NamedTuple):
    """Values (None if there are none), the text after them, and an error message."""

    values: dict[str, object] | None
    body: str
    problem: str | None = None


class Block(NamedTuple):
    """Language and position of front matter in a text, and the start of the body."""

    language: str
    start: int
    end: int
    body: int


def find_block(text: str) -> Block | None:
    """Find YAML between `---`, TOML between `+++`, or JSON between `;;;` or in `{ }` at the start of a text.

    Empty lines may precede it. YAML may end with `...`.
    """
    start = _start(text)
    if opening := _OPENING.match(text, start):
        return _between_fences(text, opening)
    in_line = _JSON_IN_LINE.match(text, start)
    if not in_line and not _JSON_OPENING.match(text, start):
        return None
    try:
        _, end = _DECODER.raw_decode(text[: start + MAX_CHARACTERS], start)
    except (ValueError, RecursionError):
        return None
    if in_line and not _BLANK.match(text, end):
        return None
    return Block("json", start, end, end + len(text) - end - len(text[end:].lstrip("\r\n")))


def _start(text: str) -> int:
    lead = _LEAD.match(text)
    return lead.end() if lead else 0


def split_front_matter(text: str, *, has_notation: bool = False) -> FrontMatter:
    """Split a text into its front matter and its body. With `has_notation`, decimal numbers are `WrittenFloat`.

    Invalid front matter has a problem and no values, and is not part of the body. Text between two rules (`---`) that
    is not a mapping is part of the body.
    """
    block = find_block(text)
    if block is None:
        return FrontMatter(None, text, _unread_problem(text))
    values, problem = read_values(block.language, text[block.start : block.end], has_notation=has_notation)
    if problem is None and not isinstance(values, dict):
        return FrontMatter(None, text)
    return FrontMatter(values, text[block.body :], problem)


def _unread_problem(text: str) -> str | None:
    """Return why a text that starts like front matter has none, or None for other texts."""
    start = _start(text)
    if _JSON_OPENING.match(text, start):
        return "The front matter cannot be read: it is not a JSON object"
    comments = _COMMENTS.match(text)
    position = comments.end() if comments else 0
    if not _UNREAD.match(text, position):
        return None
    if _OPENING.match(text, start):
        return f"The front matter has no end. Add a line with {text[start : start + 3]} after it"
    return "The front matter must start in the first line, with a line that contains only its fence"


def _between_fences(text: str, opening: re.Match[str]) -> Block | None:
    fence, language = opening[1], (opening[2] or "").lower()
    closing = _CLOSINGS[fence].search(text, opening.end())
    if closing is None:
        return None
    name = language or _FENCES[fence]
    return Block(name, opening.end(), closing.start(), closing.end() + text.startswith("\n", closing.end()))


def read_values(language: str, inner: str, *, has_notation: bool = False) -> tuple[Any, str | None]:
    """Return the value of a text in YAML, TOML or JSON, and the problem if it cannot be read."""
    if len(inner) > MAX_CHARACTERS:
        return None, "The front matter is too long"
    try:
        return _READERS[language](inner, has_notation), None
    except (ValueError, RecursionError) as error:
        return None, f"The front matter cannot be read: {str(error)[:200]}"


def _read_yaml(inner: str, has_notation: bool) -> object:
    value = read_yaml(inner, has_notation=has_notation)
    return {} if value is None else value


def _read_toml(inner: str, has_notation: bool) -> object:
    return plain(read_toml(inner, parse_float=WrittenFloat if has_notation else float), ValueBudget())


def _read_json(inner: str, has_notation: bool) -> object:  # noqa: ARG001 (the signature of the readers)
    trimmed = inner.strip()
    return plain(_DECODER.decode(trimmed if trimmed.startswith("{") else f"{{{trimmed}}}"), ValueBudget())


_READERS: dict[str, Callable[[str, bool], object]] = {"yaml": _read_yaml, "toml": _read_toml, "json": _read_json}
