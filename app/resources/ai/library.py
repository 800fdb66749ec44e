"""The tools of the chat: they read one project, with the rights its reader has at that moment, and write nothing.

Which project that is, the caller's request said and a guard allowed; nothing a model or a file says changes it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from app import transactions
from app.core.content.text import decode
from app.core.errors import AppError, NotAllowed, NotFound
from app.core.paths import path_fault
from app.drivers.ai.port import Tool, ToolCall
from app.drivers.errors import DriverError
from app.drivers.git.hosts import GitHosts
from app.extensions import db
from app.http import targets
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.user import User
from app.resources.project_content import raw, search
from app.resources.project_content.source import source_of

T = TypeVar("T")

HITS = 20
READ_CHARACTERS = 40_000
READ_BYTES = 1024 * 1024
ALL_CHARACTERS = 160_000

TOOLS = (
    Tool(
        "search_files",
        "Find files of the project by words in their path, title or text.",
        {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "words to look for"}},
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
    Tool(
        "read_file",
        "Read a text file of the project. Long files come in parts; ask again with a later start_line.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "as search_files names it"},
                "start_line": {"type": "integer", "description": "1 for the start of the file"},
            },
            "required": ["path", "start_line"],
            "additionalProperties": False,
        },
    ),
)


@dataclass(frozen=True)
class Document:
    """A file that was read."""

    path: str
    media_type: str


@dataclass(frozen=True)
class Outcome:
    """What a tool found, or why not."""

    output: dict[str, Any] | None
    problem: str | None = None
    document: Document | None = None

    @property
    def text(self) -> str:
        """As the model is told."""
        return self.problem or orjson.dumps(self.output).decode()


@dataclass
class Library:
    """One request's way to a project's files. `run` calls a function with a database session of its own."""

    run: Callable[[Callable[[], Any]], Any]
    user_id: str
    project_id: str
    hosts: GitHosts
    left: int = field(default=ALL_CHARACTERS)

    def allowed(self) -> bool:
        """Whether the reader still may read the project."""
        return bool(self.run(lambda: self._open() is not None))

    def use(self, call: ToolCall) -> Outcome:
        """Run a tool. What it cannot do is told to the model.

        Raises:
            NotAllowed: the reader may no longer read the project.
        """
        arguments = parsed(call)
        if arguments is None:
            return Outcome(None, "The arguments are no JSON object")
        if self.left <= 0:
            return Outcome(None, "Enough was read for one question; answer with what you have")
        try:
            outcome: Outcome = self.run(lambda: self._used(call.name, arguments))
        except NotAllowed:
            raise
        except AppError as error:
            return Outcome(None, error.message)
        except DriverError as error:
            return Outcome(None, str(error))
        self.left -= len(outcome.text)
        return outcome

    def _used(self, name: str, arguments: dict[str, Any]) -> Outcome:
        opened = self._open()
        if opened is None:
            raise NotAllowed
        match name:
            case "search_files":
                return _search(opened[1], opened[2], str(arguments.get("query", "")))
            case "read_file":
                start = arguments.get("start_line")
                return self._read(*opened, str(arguments.get("path", "")), start if isinstance(start, int) else 1)
            case _:
                return Outcome(None, f"There is no tool {name[:40]}")

    def _open(self) -> tuple[User, Project, ContentIndex | None] | None:
        """The reader, the project and its index, while the reader is a member."""
        user = db.session.get(User, self.user_id)
        if user is None:
            return None
        try:
            found = targets.project_of(user.id, self.project_id)
        except NotFound:
            return None
        return (user, found["project"], found["index"]) if found["role"] else None

    def _read(self, user: User, project: Project, index: ContentIndex | None, path: str, start: int) -> Outcome:
        fault = path_fault(path)
        if fault is not None:
            return Outcome(None, fault)
        file = raw.find(index, path, source_of(project, self.hosts, actor=user))
        transactions.rest()
        data = _limited(file.read())
        text = decode(data)[0] if data is not None else None
        if text is None:
            return Outcome(
                None, "This is no text file" if data is not None else "This file is too large to be read here"
            )
        return Outcome(_part(path, text, max(1, start)), document=Document(path, file.mime))


def _search(project: Project, index: ContentIndex | None, query: str) -> Outcome:
    if index is None or index.generation == 0:
        return Outcome(None, "The project's files are not indexed yet")
    hits = search.search(project, index, query[:200], limit=HITS)
    return Outcome({"files": [_hit(hit) for hit in hits]})


def _hit(hit: search.Hit) -> dict[str, Any]:
    found = {"path": hit.path, "title": hit.title, "snippet": hit.snippet.text if hit.snippet else None}
    return {name: value for name, value in found.items() if value}


def _limited(pieces: Iterator[bytes]) -> bytes | None:
    """All of it, or None when it is too large."""
    data = b""
    for piece in pieces:
        data += piece
        if len(data) > READ_BYTES:
            return None
    return data


def _part(path: str, text: str, start: int) -> dict[str, Any]:
    """Whole lines from `start` on, as many as fit; a longer line is cut."""
    lines = text.split("\n")
    taken: list[str] = []
    size = 0
    for line in lines[start - 1 :]:
        size += len(line) + 1
        if size > READ_CHARACTERS and taken:
            break
        taken.append(line[:READ_CHARACTERS])
    shown = {"path": path, "start_line": start, "lines": len(lines), "text": "\n".join(taken)}
    last = start + len(taken) - 1
    return shown | ({"next_line": last + 1} if last < len(lines) else {})


def parsed(call: ToolCall) -> dict[str, Any] | None:
    """A call's arguments, if they are an object."""
    try:
        value = orjson.loads(call.arguments or "{}")
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
