"""What backups ask of the local repositories."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Bundled:
    """A repository as a bundle holds it: its HEAD's branch, how many refs, and a hash over both.

    Objects are named by their contents, so two repositories with equal refs hold the same history.
    """

    head: str
    refs: int
    sha256: str


class Bundles(Protocol):
    """The local repositories as one file each, for backups."""

    def names(self) -> Iterator[str]:
        """Every repository there is as `owner/name`, in order."""

    def described(self, name: str) -> Bundled | None:
        """A repository as it is now; None where there is none."""

    def write(self, name: str, file: Path) -> Bundled:
        """Write every ref and what it reaches into a new file; none is made of a repository without a ref.

        What is pushed meanwhile is in it or not, ref by ref.
        """

    def read(self, name: str, file: Path | None, head: str) -> Bundled:
        """Make a repository from such a file, or an empty one; whole or not at all. Raises RepositoryExists, Rejected."""
