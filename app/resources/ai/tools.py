"""Tools of the chat. They read one project with the current permissions of the user and write nothing.

The guard of the request has permitted the project. Text of a model or a file cannot change it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from app.content.text import decode
from app.core.errors import AppError, PermissionDenied
from app.core.paths import path_error
from app.drivers.ai.port import Tool, ToolCall
from app.drivers.errors import DriverError
from app.drivers.git.hosts import GitHosts
from app.extensions import db
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.user import User
from app.resources.project_content.search import file_search
from app.resources.project_content.source import source_of
from app.resources.project_content.versions import file_metadata

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
    """A file that a tool has read."""

    path: str
    media_type: str


@dataclass(frozen=True)
class ToolResult:
    """Output of a tool, or the reason why there is none."""

    output: dict[str, object] | None
    problem: str | None = None
    document: Document | None = None

    @property
    def text(self) -> str:
        """Return the text for the model."""
        return self.problem or orjson.dumps(self.output).decode()


@dataclass
class ProjectTools:
    """Tools of one request.

    `run` calls a function with a separate database session. `find_project` returns the project of an id with its index
    if the user is a member, else None.
    """

    run: Callable[[Callable[[], object]], Any]
    find_project: Callable[[str, str], tuple[Project, ContentIndex | None] | None]
    user_id: str
    project_id: str
    hosts: GitHosts
    remaining_characters: int = field(default=ALL_CHARACTERS)

    def is_allowed(self) -> bool:
        """Return whether the user may still read the project."""
        return bool(self.run(lambda: self._open() is not None))

    def use(self, call: ToolCall) -> ToolResult:
        """Run a tool. The result for the model contains an error of the tool.

        Raises:
            PermissionDenied: the user may no longer read the project.
        """
        arguments = parsed(call)
        if arguments is None:
            return ToolResult(None, "The arguments must be a JSON object")
        if self.remaining_characters <= 0:
            return ToolResult(None, "The limit of one question is reached. Answer with the information that you have")
        try:
            outcome: ToolResult = self.run(lambda: self._used(call.name, arguments))
        except PermissionDenied:
            raise
        except AppError as error:
            return ToolResult(None, error.message)
        except DriverError as error:
            return ToolResult(None, str(error))
        self.remaining_characters -= len(outcome.text)
        return outcome

    def _used(self, name: str, arguments: dict[str, object]) -> ToolResult:
        opened = self._open()
        if opened is None:
            raise PermissionDenied
        user, project, index = opened
        match name:
            case "search_files":
                return _search(project, index, str(arguments.get("query", "")))
            case "read_file":
                start = arguments.get("start_line")
                path = str(arguments.get("path", ""))
                return self._read(user, project, index, path, start if isinstance(start, int) else 1)
            case _:
                return ToolResult(None, f"There is no tool {name[:40]}")

    def _open(self) -> tuple[User, Project, ContentIndex | None] | None:
        """Return the user, the project and its index if the user is a member."""
        user = db.session.get(User, self.user_id)
        if user is None:
            return None
        project = self.find_project(user.id, self.project_id)
        return (user, *project) if project is not None else None

    def _read(self, user: User, project: Project, index: ContentIndex | None, path: str, start: int) -> ToolResult:
        error = path_error(path)
        if error is not None:
            return ToolResult(None, error)
        file = file_metadata.find_raw(index, path, source_of(project, self.hosts, user=user))
        data = _limited(file.read())
        text = decode(data)[0] if data is not None else None
        if text is None:
            return ToolResult(None, "This is not a text file" if data is not None else "This file is too large")
        return ToolResult(_part(path, text, max(1, start)), document=Document(path, file.mime))


def _search(project: Project, index: ContentIndex | None, query: str) -> ToolResult:
    if index is None or index.generation == 0:
        return ToolResult(None, "The project's files are not indexed yet")
    hits = file_search.search(project, index, query[:200], limit=HITS)
    return ToolResult({"files": [_hit(hit) for hit in hits]})


def _hit(hit: file_search.SearchResult) -> dict[str, object]:
    fields = {"path": hit.path, "title": hit.title, "snippet": hit.snippet.text if hit.snippet else None}
    return {name: value for name, value in fields.items() if value}


def _limited(pieces: Iterator[bytes]) -> bytes | None:
    """Return all bytes, or None if there are too many."""
    data = b""
    for piece in pieces:
        data += piece
        if len(data) > READ_BYTES:
            return None
    return data


def _part(path: str, text: str, start: int) -> dict[str, object]:
    """Return complete lines from `start`, as many as fit. A longer line is cut."""
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


def parsed(call: ToolCall) -> dict[str, object] | None:
    """Return the arguments of a call, or None if they are not an object."""
    try:
        value = orjson.loads(call.arguments or "{}")
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
