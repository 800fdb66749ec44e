"""Blocks of Markdown that the formatted editor of the console shows as their source.

`classify` in `app/console/assets/src/markdown/parse.ts` has the same rules. A test compares both.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it.token import Token

SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space of JavaScript."""

_EXTENSION = re.compile(
    r' {0,3}(?::::|!!!|\?\?\?|===? "|\$\$|\[\^[^\]]+\]:|\[[^\]]+\]:[' + SPACE + r"])|\s*+\{[:#.][^}\n]*\}\s*\Z"
)
_COMPONENT = re.compile(r"\s*</?(?:[A-Z]|[a-z][\w.-]*[.-])")
_ROW_OF_TAGS = re.compile(r"\s*\{[:{%]")
_MDX_STATEMENT = re.compile(r"\s*(?:import|export)\s")
_MDX_ID = re.compile(r"\{#[\w-]+\}[ \t]*\Z", re.ASCII)
_MDX_TEXT = re.compile(
    r"<(?:/?(?:b|strong|i|em|s|del)|br ?/)>|(?<!`)`[^`\n]+`(?!`)|(?<!`)``[^`\n]+``(?!`)|\\."
    r'|\]\((?:<[^<>\n]*>|[^()\s]*)(?: "[^"\n]*")?\)',
    re.DOTALL,
)


def is_source(source: str, tokens: Sequence[Token], *, is_mdx: bool) -> bool:
    """Return whether the editor shows the source of a block, or a form for the attributes of a component."""
    trimmed = source.strip(SPACE)
    is_tag = (trimmed.startswith("{{") and trimmed.endswith("}}")) or (
        trimmed.startswith("{%") and trimmed.endswith("%}")
    )
    if is_tag or _EXTENSION.match(source) or _COMPONENT.match(source):
        return True
    if any(token.type == "html_block" or (token.type == "table_open" and token.level) for token in tokens):
        return True
    kind = tokens[0].type
    if kind == "table_open" and not _is_plain_table(source, tokens):
        return True
    return is_mdx and kind != "fence" and (kind == "code_block" or is_mdx_code(source))


def _is_plain_table(source: str, tokens: Sequence[Token]) -> bool:
    """Return whether a table has no text beyond its columns, and no lines of an extension."""
    _, _, *rows = source.split("\n")
    columns = sum(token.type == "th_open" for token in tokens)
    return not any(
        _ROW_OF_TAGS.match(row) or any(end > start for start, end in cells_of(row)[columns:]) for row in rows
    )


def cells_of(row: str) -> list[tuple[int, int]]:
    """Return the positions of the cells of a row of a table. A backslash precedes a bar that is text."""
    start, end = _trimmed(row, 0, len(row))
    bars = [at for at in range(start, end) if row[at] == "|" and (at == start or row[at - 1] != "\\")]
    bounds = [start - 1, *bars, end]
    cells = [(before + 1, after) for before, after in pairwise(bounds)]
    if cells and cells[0][0] == cells[0][1]:
        del cells[0]
    if cells and cells[-1][0] == cells[-1][1]:
        del cells[-1]
    return [_trimmed(row, *cell) for cell in cells]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start] in " \t":
        start += 1
    while end > start and text[end - 1] in " \t":
        end -= 1
    return start, end


def is_mdx_code(source: str) -> bool:
    """Return whether MDX reads a source as code: imports, expressions and elements outside of code and link targets."""
    if _MDX_STATEMENT.match(source):
        return True
    if "{" not in source and "<" not in source:
        return False
    text = _MDX_TEXT.sub("", _without_comments(_MDX_ID.sub("", source)))
    return "{" in text or "<" in text


def _without_comments(source: str) -> str:
    first, *parts = source.split("{/*")
    return first + "".join(part.partition("*/}")[2] if "*/}" in part else "{/*" + part for part in parts)
