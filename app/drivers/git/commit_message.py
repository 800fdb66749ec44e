"""The text of a commit: the message of a person and the trailers of the service."""

import re
from collections.abc import Sequence
from itertools import islice, takewhile

from app.drivers.git.port import Person

DEFAULT_MESSAGE = "Update content"

CHANGE_SET = "Galley-Change-Set"
"""The trailer of the commit that publishes a change set. Its value is the id of the set."""

_ATTRIBUTION = re.compile(r"\s*(co-authored-by|signed-off-by|galley-change-set)\s*:", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_PERSON = re.compile(r"[^<>]*[^<>\s] <[^<>\s]+>")
# Git stops at a line of three dashes, which starts a patch, and at the scissors line of `git commit`.
_ENDS_MESSAGE = re.compile(r"---\s|---$|# -{24} >8 -{24}$")
_TRAILER = re.compile(r"[A-Za-z0-9-]+[ \t]*:|\(cherry picked from commit ")
_COMMENT = "#"
_CO_AUTHOR = re.compile(r"^co-authored-by:([^<>\n]*+)<([^<>\s]++)>[ \t]*+$", re.IGNORECASE | re.MULTILINE)
MAX_CO_AUTHORS = 100


def co_author(person: Person) -> tuple[str, str]:
    """Return the trailer that names a person as co-author of the bot.

    Raises:
        ValueError: the name or e-mail holds CR, LF, NUL, < or >, or is empty.
    """
    for text in (person.name, person.email):
        if not text.strip() or set(text) & set("\r\n\0<>"):
            raise ValueError("name and e-mail must not be empty or contain line breaks, NUL, < or >")
    return "Co-authored-by", f"{' '.join(person.name.split())} <{person.email.strip()}>"


def co_authors_of(message: str) -> list[Person]:
    """Return the first 100 co-authors that a message names, each e-mail once."""
    people: dict[str, Person] = {}
    for match in islice(_CO_AUTHOR.finditer(message), MAX_CO_AUTHORS):
        people.setdefault(match[2].lower(), Person(match[1].strip(" \t"), match[2]))
    return list(people.values())


def create_git_commit_message(message: str, trailers: Sequence[tuple[str, str]], description: str | None = None) -> str:
    """Join message, description and trailers with blank lines.

    `git interpret-trailers --parse` finds exactly `trailers` in the result. Trailers of the service that are typed into
    the text (`Co-authored-by`, `Signed-off-by`, `Galley-Change-Set`) are removed. Lines that would end the message for
    Git, or would be its trailers where none are given, are moved in by one space.

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
        raise ValueError("the name of a trailer must consist of letters, digits and hyphens")
    if not value or value != value.strip() or set(value) & set("\r\n\0"):
        raise ValueError("the value of a trailer must be one line without surrounding spaces")
    if (token.lower().endswith("-by") or set(value) & set("<>")) and not _PERSON.fullmatch(value):
        raise ValueError("a trailer with a person must have the form: Name <e-mail>")


def _clean(text: str) -> str:
    """Remove attributions from a text and indent lines that would end the message."""
    if "\0" in text:
        raise ValueError("a commit message must not contain NUL")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    remaining = "\n".join(line for line in lines if not _ATTRIBUTION.match(line)).strip("\n\t ")
    return "\n".join(f" {line}" if _ENDS_MESSAGE.match(line) else line for line in remaining.split("\n"))


def _without_trailers(text: str) -> str:
    """Indent the last paragraph if Git would parse it as trailers. Git never parses the first paragraph, the title."""
    lines = text.split("\n")
    end = _last_line(lines)
    start = end - sum(1 for _ in takewhile(lambda line: line.strip(), reversed(lines[:end])))
    block = [line for line in lines[start:end] if not line.startswith(_COMMENT)]
    if start > 0 and _are_trailers(block):
        lines[start:end] = [f" {line}" for line in lines[start:end]]
    return "\n".join(lines)


def _last_line(lines: list[str]) -> int:
    """Return the number of the last line without the comments, blank lines and list of conflicts that Git ignores."""
    end, in_conflicts = 0, False
    for number, line in enumerate(lines, 1):
        if line == "Conflicts:":
            in_conflicts = True
        elif line and not line.startswith(_COMMENT) and not (in_conflicts and line.startswith("\t")):
            end, in_conflicts = number, False
    return end


def _are_trailers(block: list[str]) -> bool:
    trailers_of_block = [line for line in block if _TRAILER.match(line)]
    generated = any(line.startswith("(cherry picked from commit ") for line in trailers_of_block)
    return bool(trailers_of_block) and (
        generated or all(line[:1].isspace() or line in trailers_of_block for line in block)
    )
