"""Comparison of built HTML pages without what each build changes: hashes of scripts, nonces, build ids and times.

Reads a page in one pass. The time is linear in its size.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import NamedTuple

MAX_TITLE = 300
DIGEST_CHARACTERS = 32
MAIN = ("main", "article")
FRAME = ("header", "nav", "footer", "aside", "head")
RAW = ("script", "style", "template", "noscript")
_MAIN = re.compile(r"<(?:main|article)\b", re.IGNORECASE | re.ASCII)
_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE | re.ASCII) for name in ("script", "style")}
_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9-]{0,40})")
_VOLATILE_ATTRIBUTE = re.compile(
    r"\s(?:nonce|integrity|data-build-id|data-build-time)\s?=\s?(?:\"[^\"]*\"|'[^']*'|[^\s>]+)"
)
_ASSET_HASH = re.compile(r"[._-][A-Za-z0-9_-]{8,64}+(?=\.(?:m?js|css)\b)")
_ASSET_QUERY = re.compile(r"(\.(?:m?js|css))\?[^\"'\s>]{1,200}")
_BUILD_ID = re.compile(r"(\"buildId\"\s?:\s?\")[^\"]{1,80}|(/_next/(?:static|data)/)[\w-]{8,40}")
_TIMESTAMP = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.+:Z-]{0,12}")
_VOLATILE_META = re.compile(r"name\s?=\s?[\"']?(?:generator|build|revision|date|csp-nonce|csrf)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Token(NamedTuple):
    """A piece of a page: a tag, or text. `name` is the name of an element, empty for text. It begins at `start`."""

    text: str
    start: int
    name: str = ""
    is_end: bool = False


@dataclass(frozen=True)
class PageDigest:
    """The title of a page, and the digests of its content and of what surrounds it: head, header, menus, footer."""

    title: str
    content: str
    frame: str


def digest_of(html: str) -> PageDigest:
    """Return the digest of a page. The content is the first `main` or `article`, or the text outside of `FRAME`."""
    starts = (token.name for token in tokens_of(html) if token.name in MAIN and not token.is_end)
    main = next(starts, None) if _MAIN.search(html) else None
    content, frame = hashlib.sha256(), hashlib.sha256()
    title: list[str] = []
    depths = dict.fromkeys((*FRAME, *RAW, "title", main or ""), 0)
    digest = frame if main is not None else content
    for token in tokens_of(html):
        is_raw = token.name in RAW
        if token.name in depths:
            depths[token.name] = max(0, depths[token.name] + (-1 if token.is_end else 1))
            is_inside = depths[main] > 0 if main is not None else not any(depths[name] for name in FRAME)
            digest = content if is_inside and not any(depths[name] for name in RAW) else frame
        text = plain(token)
        if not text:
            continue
        if not token.name and depths["title"] and len(title) < MAX_TITLE:
            title.append(text)
        (frame if is_raw else digest).update(text.encode("utf-8", "surrogatepass") + b"\n")
    shown = _CONTROLS.sub("", unescape(_SPACES.sub(" ", " ".join(title)))).strip()[:MAX_TITLE]
    return PageDigest(shown, content.hexdigest()[:DIGEST_CHARACTERS], frame.hexdigest()[:DIGEST_CHARACTERS])


def tokens_of(html: str) -> Iterator[Token]:
    """Yield tags and texts. Comments are left out. The content of a script ends at its end tag."""
    position, length = 0, len(html)
    while position < length:
        if html.startswith("<!--", position):
            position = _end(html, "-->", position + 4)
            continue
        if html[position] != "<":
            end = html.find("<", position + 1)
            end = length if end < 0 else end
            yield Token(html[position:end], position)
            position = end
            continue
        end = _end(html, ">", position + 1)
        match = _NAME.match(html, position)
        name = match[1].lower() if match is not None else ""
        is_end = html.startswith("</", position)
        yield Token(html[position:end], position, name or "!", is_end)
        position = end
        if name in _ENDS and not is_end:
            end_tag = _ENDS[name].search(html, position)
            close = length if end_tag is None else end_tag.start()
            yield Token(html[position:close], position)
            position = close


def _end(text: str, mark: str, start: int) -> int:
    position = text.find(mark, start)
    return len(text) if position < 0 else position + len(mark)


def plain(token: Token) -> str:
    """Return the text of a token without what differs between two builds of one source."""
    if token.name and "=" not in token.text:  # Most tags have no attributes, and nothing in them differs.
        return token.text
    if token.name == "meta" and _VOLATILE_META.search(token.text):
        return ""
    text = _SPACES.sub(" ", token.text).strip()
    if not text:
        return ""
    if token.name:
        text = _VOLATILE_ATTRIBUTE.sub("", text)
        text = _ASSET_HASH.sub("", _ASSET_QUERY.sub(r"\1", text))
    return _TIMESTAMP.sub("", _BUILD_ID.sub(r"\1\2", text))
