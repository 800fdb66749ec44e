"""The values of a save: its files, message, base and author."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.drivers.git.commit_message import create_git_commit_message
from app.drivers.git.port import FileChange, Person


@dataclass(frozen=True)
class FileEdit:
    """One file of a save. `base_blob_sha` is the blob from which the edit started, if the client sends it."""

    change: FileChange
    base_blob_sha: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        previous = self.change.previous_path
        return (self.change.path, previous) if previous else (self.change.path,)


@dataclass(frozen=True)
class Attribution:
    """The author of a commit and its trailers. The author is the bot if `author` is None."""

    author: Person | None = None
    trailers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SaveRequest:
    """The edits, message and base of one save."""

    base_sha: str
    edits: Sequence[FileEdit]
    message: str
    description: str | None = None
    attribution: Attribution = Attribution()

    @property
    def commit_message(self) -> str:
        """The message with the description and the trailers."""
        return create_git_commit_message(self.message, self.attribution.trailers, self.description)
