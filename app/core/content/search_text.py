"""What is kept of one file so that it can be found: its title, the beginning of its text, its words and its links.

Never fails, whatever the bytes are; of a large file only the beginning is looked into.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.content.filetypes import file_type
from app.core.content.front_matter import LANGUAGES, FrontMatter, split_front_matter
from app.core.content.links import Link, find_links
from app.core.content.search_query import field_name, field_word
from app.core.content.text import decode
from app.core.content.values import plain_text
from app.core.content.words import words

MAX_BYTES = 512 * 1024
MAX_SEARCHED, MAX_SHOWN, MAX_TITLE = 128 * 1024, 32 * 1024, 500
MAX_FIELD_WORDS = 2_000
_UNTOLD = frozenset({"diff", "jsonl", "notebook", "svg", "geojson", "csv", "tsv"})
"""Text by name, but data that people do not look for by its words."""

_HEADING = re.compile(r"^#[ \t]+([^ \t\n].*)", re.MULTILINE)
_HTML_TITLE = re.compile(r"<title>([^<]{1,500})</title>", re.IGNORECASE)
_MARKDOWN = frozenset({"markdown", "mdx", "markdoc"})


@dataclass(frozen=True)
class SearchText:
    """`field_words` say which front matter key holds what; a title found elsewhere stands among them as one."""

    title: str | None
    body: str
    field_words: list[str]
    words: list[str]
    links: list[Link]


def has_text(path: str) -> bool:
    """Whether a file of that name is read for search at all."""
    language = file_type(path).language
    return language is not None and language not in _UNTOLD


def read_text(path: str, data: bytes) -> SearchText | None:
    """What a file is found by; None for one that turns out to be no text."""
    text, _ = decode(data[:MAX_BYTES], whole=len(data) <= MAX_BYTES)
    if text is None:
        return None
    text, language = plain_text(text), file_type(path).language
    front = split_front_matter(text) if language in LANGUAGES else FrontMatter(None, text)
    values = front.values or {}
    title = _title(values) or _heading(front.body, language)
    told = values if _title(values) else {"title": title, **values}
    return SearchText(
        title=title,
        body=front.body[:MAX_SHOWN],
        field_words=list(_field_words(told)),
        words=words(text[:MAX_SEARCHED]),
        links=find_links(front.body, values),
    )


def _title(values: Mapping[str, Any]) -> str | None:
    told = values.get("title", values.get("Title"))
    if isinstance(told, str | int | float) and not isinstance(told, bool):
        return str(told).strip()[:MAX_TITLE] or None
    return None


def _heading(body: str, language: str | None) -> str | None:
    pattern = _HEADING if language in _MARKDOWN else _HTML_TITLE
    found = pattern.search(body[:MAX_SHOWN])
    return found[1].strip().rstrip("# \t")[:MAX_TITLE] or None if found else None


def _field_words(values: Mapping[str, Any]) -> Iterator[str]:
    left = MAX_FIELD_WORDS
    for name, value in _leaves(values, ""):
        for word in words(value):
            if left == 0:
                return
            left -= 1
            yield field_word(name, word)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each single value with its key's name; keys inside keys are joined by an underscore."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, "_".join(filter(None, (name, field_name(str(key))))))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    elif value is not None and name:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)
