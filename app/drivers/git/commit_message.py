"""The text of a commit: what a person typed, then the service's own trailers; knows no repository."""

import re
from collections.abc import Sequence
from itertools import takewhile

from app.drivers.git.port import Person

DEFAULT_MESSAGE = "Update content"

_ATTRIBUTION = re.compile(r"\s*(co-authored-by|signed-off-by)\s*:", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_PERSON = re.compile(r"[^<>]*[^<>\s] <[^<>\s]+>")
# Git reads no further than a line of three dashes (there a patch would begin) or `git commit`'s scissors.
_ENDS_MESSAGE = re.compile(r"---\s|---$|# -{24} >8 -{24}$")
_TRAILER = re.compile(r"[A-Za-z0-9-]+[ \t]*:|\(cherry picked from commit ")
_COMMENT = "#"


def co_author(person: Person) -> tuple[str, str]:
    """The trailer that names a person as the author beside the bot.

    Raises:
        ValueError: the name or e-mail holds CR, LF, NUL, < or >, or is empty.
    """
    for text in (person.name, person.email):
        if not text.strip() or set(text) & set("\r\n\0<>"):
            raise ValueError("a name and an e-mail must be given, without line breaks, NUL, < and >")
    return "Co-authored-by", f"{' '.join(person.name.split())} <{person.email.strip()}>"


def create_git_commit_message(message: str, trailers: Sequence[tuple[str, str]], description: str | None = None) -> str:
    """Put message, description and trailers together, a blank line between each.

    `git interpret-trailers --parse` finds exactly `trailers` in the result: attributions typed into the text
    (`Co-authored-by`, `Signed-off-by`) are removed, and lines that would end the message for Git, or would be its
    trailers where none are given, are moved in by one space.

    Raises:
        ValueError: a trailer holds CR, LF, NUL, or `<` and `>` other than around an e-mail; or the text holds NUL.
    """
    for token, value in trailers:
        _check_trailer(token, value)
    text = "\n\n".join(part for part in (_clean(message) or DEFAULT_MESSAGE, _clean(description or "")) if part)
    if not trailers:
        return _without_trailers(text) + "\n"
    return "\n".join([text, "", *(f"{token}: {value}" for token, value in trailers), ""])


def _check_trailer(token: str, value: str) -> None:
    if not _TOKEN.fullmatch(token):
        raise ValueError("a trailer's name has letters, digits and hyphens")
    if not value or value != value.strip() or set(value) & set("\r\n\0"):
        raise ValueError("a trailer's value must be one line without spaces around it")
    if (token.lower().endswith("-by") or set(value) & set("<>")) and not _PERSON.fullmatch(value):
        raise ValueError("a trailer that names a person must read: Name <e-mail>")


def _clean(text: str) -> str:
    """What was typed, without attributions and without lines that end a message."""
    if "\0" in text:
        raise ValueError("a commit message must not hold NUL")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = "\n".join(line for line in lines if not _ATTRIBUTION.match(line)).strip("\n\t ")
    return "\n".join(f" {line}" if _ENDS_MESSAGE.match(line) else line for line in kept.split("\n"))


def _without_trailers(text: str) -> str:
    """Move the last paragraph in where Git would read it as trailers; the first is the title, which it never reads."""
    lines = text.split("\n")
    end = _last_line(lines)
    start = end - sum(1 for _ in takewhile(lambda line: line.strip(), reversed(lines[:end])))
    block = [line for line in lines[start:end] if not line.startswith(_COMMENT)]
    if start > 0 and _are_trailers(block):
        lines[start:end] = [f" {line}" for line in lines[start:end]]
    return "\n".join(lines)


def _last_line(lines: list[str]) -> int:
    """Where the text ends for Git, which passes over comments, blank lines and a list of conflicts behind it."""
    end, in_conflicts = 0, False
    for place, line in enumerate(lines, 1):
        if line == "Conflicts:":
            in_conflicts = True
        elif line and not line.startswith(_COMMENT) and not (in_conflicts and line.startswith("\t")):
            end, in_conflicts = place, False
    return end


def _are_trailers(block: list[str]) -> bool:
    found = [line for line in block if _TRAILER.match(line)]
    generated = any(line.startswith("(cherry picked from commit ") for line in found)
    return bool(found) and (generated or all(line[:1].isspace() or line in found for line in block))
