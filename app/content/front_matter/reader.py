"""Reader of the front matter of a text."""

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any, NamedTuple

from app.content.front_matter.values import ValueBudget, plain
from app.content.front_matter.yaml_reader import read_yaml

MAX_CHARACTERS = 64 * 1024
# Not `astro`: the block between its dashes is code.
LANGUAGES = frozenset((
    "markdown", "mdx", "markdoc", "html", "nunjucks", "liquid", "handlebars", "ejs", "pug", "haml", "slim", "webc", "twig",
    "go-template", "asciidoc", "restructuredtext", "org", "textile", "svelte", "text",
))  # fmt: skip
_OPENING = re.compile(r"(---|\+\+\+|;;;)(yaml|toml|json)?[ \t]*\r?\n", re.IGNORECASE)
_FENCES = {"---": "yaml", "+++": "toml", ";;;": "json"}
_CLOSINGS = {fence: re.compile(rf"^{re.escape(fence)}[ \t]*\r?$", re.MULTILINE) for fence in _FENCES}
_JSON_OPENING = re.compile(r"\{[ \t]*\r?\n")
# Hugo accepts any text that starts with a brace. Here, an object must be followed by the end of its line and an empty
# line, so that JSON lines and sentences that start with a brace are not cut.
_JSON_IN_LINE = re.compile(r'\{[ \t]*"')
_BLANK = re.compile(r"[ \t]*(?:\r?\n[ \t]*(?:\r?\n|\Z)|\Z)")


class FrontMatter(NamedTuple):
    """Values (None if there are none), the text after them, and an error message."""

    values: dict[str, Any] | None
    body: str
    problem: str | None = None


class Block(NamedTuple):
    """Language and position of front matter in a text, and the start of the body."""

    language: str
    start: int
    end: int
    body: int


def find_block(text: str) -> Block | None:
    """Find YAML between `---`, TOML between `+++`, or JSON between `;;;` or in `{ }` at the start of a text."""
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
    """Split a text into its front matter and its body.

    Invalid front matter has a problem and no values, and is not part of the body. Text between two rules (`---`) that
    is not a mapping is part of the body.
    """
    block = find_block(text)
    if block is None:
        error = "The front matter cannot be read: it is not a JSON object" if _JSON_OPENING.match(text) else None
        return FrontMatter(None, text, error)
    values, problem = _read(_READERS[block.language], text[block.start : block.end])
    if problem is None and not isinstance(values, dict):
        return FrontMatter(None, text)
    return FrontMatter(values, text[block.body :], problem)


def _between_fences(text: str, opening: re.Match[str]) -> Block | None:
    fence, language = opening[1], (opening[2] or "").lower()
    closing = _CLOSINGS[fence].search(text, opening.end())
    if closing is None:
        return None
    name = language or _FENCES[fence]
    return Block(name, opening.end(), closing.start(), closing.end() + text.startswith("\n", closing.end()))


def _read(read: Callable[[str], Any], inner: str) -> tuple[Any, str | None]:
    if len(inner) > MAX_CHARACTERS:
        return None, "The front matter is too long"
    try:
        return read(inner), None
    except (ValueError, RecursionError) as error:
        return None, f"The front matter cannot be read: {str(error)[:200]}"


def _read_yaml(inner: str) -> Any:
    value = read_yaml(inner)
    return {} if value is None else value


def _read_toml(inner: str) -> Any:
    return plain(tomllib.loads(inner.replace("\r\n", "\n")), ValueBudget())


def _read_json(inner: str) -> Any:
    trimmed = inner.strip()
    return plain(_DECODER.decode(trimmed if trimmed.startswith("{") else f"{{{trimmed}}}"), ValueBudget())


_DECODER = json.JSONDecoder(parse_constant=str)
_READERS: dict[str, Callable[[str], Any]] = {"yaml": _read_yaml, "toml": _read_toml, "json": _read_json}
