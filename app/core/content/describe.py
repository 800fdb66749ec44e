"""All that one file's bytes say about it, as one value; never fails, whatever they are."""

from dataclasses import dataclass, field
from typing import Any

from app.core.content.filetypes import BINARY, TEXT, file_type
from app.core.content.front_matter import LANGUAGES, FrontMatter, split_front_matter
from app.core.content.outline import Outline, read_outline
from app.core.content.text import count_lines, decode

MAX_BYTES = 1024 * 1024
MAX_TITLE = 500


@dataclass(frozen=True)
class FileFacts:
    """What a file is. `lines` is None for binary files; `problems` are sentences for the person who edits it."""

    encoding: str | None
    lines: int | None
    language: str | None
    mime: str
    front_matter: dict[str, Any] | None = None
    title: str | None = None
    headings: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    problems: tuple[str, ...] = ()


def describe(path: str, data: bytes, *, outline: bool = True) -> FileFacts:
    """Read a file's facts; of a large one only the first MiB is looked into (its lines are all counted).

    Without `outline`, headings and links are left out wherever the title does not need them: six times faster.
    """
    kind = file_type(path)
    text, encoding = decode(data[:MAX_BYTES], whole=len(data) <= MAX_BYTES)
    if text is None:
        return FileFacts(None, None, kind.language, kind.mime or BINARY)
    front = split_front_matter(text) if kind.language in LANGUAGES else FrontMatter(None, text)
    title = _title(front.values)
    read = Outline()
    if kind.language in ("markdown", "mdx", "markdoc") and (outline or title is None):
        read = read_outline(front.body, mdx=kind.language == "mdx")
    cut = None if read.whole and len(data) <= MAX_BYTES else "The file is too large to be read to its end"
    return FileFacts(
        encoding=encoding,
        lines=count_lines(data),
        language=kind.language,
        mime=kind.mime or TEXT,
        front_matter=front.values,
        title=title or _first_heading(read),
        headings=read.headings if outline else [],
        links=read.links if outline else [],
        problems=tuple(problem for problem in (front.problem, cut) if problem),
    )


def _title(values: dict[str, Any] | None) -> str | None:
    found = next((values[key] for key in ("title", "Title") if key in values), None) if values else None
    if isinstance(found, bool | dict | list) or found is None:
        return None
    return str(found).strip()[:MAX_TITLE] or None


def _first_heading(read: Outline) -> str | None:
    return next(
        (heading["text"][:MAX_TITLE] for heading in read.headings if heading["level"] == 1 and heading["text"]), None
    )
