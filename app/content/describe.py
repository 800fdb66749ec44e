"""Description of one file from its bytes. It accepts any bytes."""

from dataclasses import dataclass, field
from typing import Any

from app.content.filetypes import BINARY, TEXT, file_type
from app.content.front_matter.reader import LANGUAGES, FrontMatter, split_front_matter
from app.content.outline import Outline, read_outline
from app.content.text import count_lines, decode

MAX_BYTES = 1024 * 1024
MAX_TITLE = 500


@dataclass(frozen=True)
class FileDescription:
    """Properties of a file. `lines` is None for binary files. `problems` are messages for the person who edits it."""

    encoding: str | None
    lines: int | None
    language: str | None
    mime: str
    front_matter: dict[str, Any] | None = None
    title: str | None = None
    headings: list[dict[str, Any]] = field(default_factory=list)
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
    cut = None if read.whole and len(data) <= MAX_BYTES else "The file is too large to be read completely"
    return FileDescription(
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
    title = next((values[key] for key in ("title", "Title") if key in values), None) if values else None
    if isinstance(title, bool | dict | list) or title is None:
        return None
    return str(title).strip()[:MAX_TITLE] or None


def _first_heading(read: Outline) -> str | None:
    return next(
        (heading["text"][:MAX_TITLE] for heading in read.headings if heading["level"] == 1 and heading["text"]), None
    )
