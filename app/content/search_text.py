"""Search data of one file: title, start of the text, terms and links.

It accepts every content. Only the start of a large file is read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.content.filetypes import file_type
from app.content.front_matter.reader import LANGUAGES, FrontMatter, split_front_matter
from app.content.front_matter.values import plain_text
from app.content.links import Link, find_links
from app.content.search_query import field_name, field_term
from app.content.text import decode
from app.content.words import words

MAX_BYTES = 512 * 1024
MAX_SEARCHED, MAX_SHOWN, MAX_TITLE = 128 * 1024, 32 * 1024, 500
MAX_FIELD_TERMS = 2_000
_DATA_LANGUAGES = frozenset({"diff", "jsonl", "notebook", "svg", "geojson", "csv", "tsv"})
"""Text files with data that is not searched by words."""

_HEADING = re.compile(r"^#[ \t]+([^ \t\n].*)", re.MULTILINE)
_HTML_TITLE = re.compile(r"<title>([^<]{1,500})</title>", re.IGNORECASE)
_MARKDOWN = frozenset({"markdown", "mdx", "markdoc"})


_NOTATION = (
    (re.compile(r"<!--(?:[^-]|-(?!->)){0,2000}-->"), ""),
    (re.compile(r"^import\b[^;'\"]{0,500}['\"][^'\"\n]{1,300}['\"];?[ \t]*$", re.MULTILINE), ""),
    (re.compile(r"^export (?:const|default|let|function)\b[^\n]*", re.MULTILINE), ""),
    (re.compile(r"\{\{[^{}\n]{0,500}\}\}|\{%[^{}\n]{0,500}%\}|\{[:#.][^{}\n]{0,200}\}"), ""),
    (re.compile(r"!?\[([^\[\]\n]{0,500})\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,200}\])"), r"\1"),
    # A link around an image.
    (re.compile(r"\[([^\[\]\n]{0,500})\]\([^()\n]{0,500}\)"), r"\1"),
    (re.compile(r"</?(?!https?:|mailto:)[A-Za-z][^<>\n]{0,500}>"), ""),
    (
        re.compile(r"^[ \t]*(?:[|:-][-:| \t]+|:::[^\n]*|```[^\n]*|~~~[^\n]*|[*_-][*_ \t-]+)$", re.MULTILINE),
        "",
    ),
    (re.compile(r"^[ \t]*(?:(?:>|[-*+]|#{1,6}|\d{1,3}[.)])[ \t]+){1,5}", re.MULTILINE), ""),
    (re.compile(r"(?<![\\\s])\*{1,3}|(?<!\\)\*{1,3}(?!\s)|(?<![\w\\])_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|~~|`|\|"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
    (re.compile(r"\s+"), " "),
)
"""Notation of Markdown, MDX and template languages with its replacement, in this order."""


@dataclass(frozen=True)
class SearchText:
    """Search data of a file. `field_terms` contain the front matter, and the title if it is defined elsewhere.

    `front_matter` contains its values, or is None if the file has none.
    """

    title: str | None
    body: str
    field_terms: list[str]
    terms: list[str]
    links: list[Link]
    front_matter: dict[str, object] | None = None


def has_text(path: str) -> bool:
    """Return whether a file with this name is searched."""
    language = file_type(path).language
    return language is not None and language not in _DATA_LANGUAGES


def read_text(path: str, data: bytes) -> SearchText | None:
    """Return the search data of a file, or None for a binary file."""
    text, _ = decode(data[:MAX_BYTES], whole=len(data) <= MAX_BYTES)
    if text is None:
        return None
    text, language = plain_text(text), file_type(path).language
    front = split_front_matter(text) if language in LANGUAGES else FrontMatter(None, text)
    values = front.values or {}
    title = _title(values) or _heading(front.body, language)
    fields = values if _title(values) else {"title": title, **values}
    return SearchText(
        title=title,
        body=front.body[:MAX_SHOWN],
        field_terms=list(_field_terms(fields)),
        terms=words(text[:MAX_SEARCHED]),
        links=find_links(front.body, values),
        front_matter=front.values,
    )


def readable_text(path: str, body: str) -> str:
    """Return the text of a page of Markdown in one line without its notation, and another text as it is."""
    if file_type(path).language not in _MARKDOWN:
        return body
    for pattern, replacement in _NOTATION:
        body = pattern.sub(replacement, body)
    return body.strip()


def _title(values: Mapping[str, object]) -> str | None:
    title = values.get("title", values.get("Title"))
    if isinstance(title, str | int | float) and not isinstance(title, bool):
        return str(title).strip()[:MAX_TITLE] or None
    return None


def _heading(body: str, language: str | None) -> str | None:
    pattern = _HEADING if language in _MARKDOWN else _HTML_TITLE
    heading = pattern.search(body[:MAX_SHOWN])
    return heading[1].strip().rstrip("# \t")[:MAX_TITLE] or None if heading else None


def _field_terms(values: Mapping[str, object]) -> Iterator[str]:
    remaining = MAX_FIELD_TERMS
    for name, value in _leaves(values, ""):
        for term in words(value):
            if remaining == 0:
                return
            remaining -= 1
            yield field_term(name, term)


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Yield each single value with its key. Nested keys are joined by an underscore."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, "_".join(filter(None, (name, field_name(str(key))))))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    elif value is not None and name:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)
