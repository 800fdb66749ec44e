"""The port of the local repositories for backups."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class BundleInfo:
    """A repository in a bundle: the branch of HEAD, the number of refs and a hash of both.

    Objects are named by their content, so two repositories with equal refs have the same history.
    """

    head: str
    refs: int
    sha256: str


class Bundles(Protocol):
    """The local repositories as one file each."""

    def names(self) -> Iterator[str]:
        """Yield the names `owner/name` of all repositories, sorted."""

    def described(self, name: str) -> BundleInfo | None:
        """Return the present state of a repository, or None if it does not exist."""

    def write(self, name: str, file: Path) -> BundleInfo:
        """Write every ref and its objects to a new file. Write no file for a repository without refs.

        A ref that is pushed at the same time has its old or its new value.
        """

    def read(self, name: str, file: Path | None, head: str) -> BundleInfo:
        """Create a repository from a bundle, or an empty one. Raises RepositoryExists, UpstreamRejected."""
