"""Writer of a site's files. Uses directory descriptors and never follows a symbolic link."""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from app.core.paths import path_error
from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.supervisor.usage import FOLDER_FLAGS
from app.drivers.sandbox.port import EXECUTABLE, SYMLINK, SiteFile

NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class SiteWriter:
    """Writer below one open folder. `user` becomes the owner of each entry; None keeps the calling user."""

    def __init__(self, folder: Path, user: int | None) -> None:
        self._root, self._user = os.open(folder, FOLDER_FLAGS), user
        self._names = EntryNames()

    def close(self) -> None:
        os.close(self._root)

    def write(self, file: SiteFile) -> None:
        """Write one entry.

        Raises:
            UpstreamRejected: the path is invalid, collides with an earlier entry, or cannot be written.
        """
        self._names.add(file.path, is_folder=False)
        *folders, name = file.path.split("/")
        try:
            with self._folder(folders) as folder:
                self._create(folder, name, file)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the content is invalid"
            raise UpstreamRejected(f"Cannot write the file “{file.path}” of the site: {reason}") from error

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents. Raises UpstreamRejected if a component is not a folder."""
        try:
            with self._folder(path.split("/")):
                pass
        except OSError as error:
            raise UpstreamRejected(f"“{path}” must be a folder of the site: {error.strerror}") from error

    @contextmanager
    def _folder(self, names: Sequence[str]) -> Iterator[int]:
        folder = os.dup(self._root)
        try:
            for name in names:
                parent, folder = folder, self._enter(folder, name)
                os.close(parent)
            yield folder
        finally:
            os.close(folder)

    def _enter(self, parent: int, name: str) -> int:
        try:
            os.mkdir(name, 0o755, dir_fd=parent)
        except FileExistsError:
            return os.open(name, FOLDER_FLAGS, dir_fd=parent)
        self._change_owner(parent, name)
        return os.open(name, FOLDER_FLAGS, dir_fd=parent)

    def _create(self, folder: int, name: str, file: SiteFile) -> None:
        if file.mode == SYMLINK:
            os.symlink(os.fsdecode(file.content), name, dir_fd=folder)
        else:
            mode = 0o755 if file.mode == EXECUTABLE else 0o644
            with os.fdopen(os.open(name, NEW_FILE_FLAGS, mode, dir_fd=folder), "wb") as stream:
                stream.write(file.content)
                os.fchmod(stream.fileno(), mode)
        self._change_owner(folder, name)

    def _change_owner(self, folder: int, name: str) -> None:
        if self._user is not None:
            os.chown(name, self._user, self._user, dir_fd=folder, follow_symlinks=False)


class EntryNames:
    """Paths of the entries so far. Compares without case and in one Unicode form, as macOS and Windows do."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[str, bool]] = {}

    def add(self, path: str, *, is_folder: bool) -> None:
        """Add a path and its parent folders.

        Raises:
            UpstreamRejected: the path is invalid, exists, differs from another only in case or Unicode form, or is
                below an entry that is not a folder.
        """
        error = path_error(path)
        if error is not None:
            raise UpstreamRejected(f"The site contains a path that a sandbox cannot store. {error}")
        parts = path.split("/")
        for depth in range(1, len(parts)):
            self._add("/".join(parts[:depth]), is_folder=True)
        self._add(path, is_folder=is_folder)

    def _add(self, path: str, *, is_folder: bool) -> None:
        known, known_is_folder = self._entries.setdefault(_folded(path), (path, is_folder))
        if known is path:
            return
        if known != path:
            raise UpstreamRejected(f"The paths “{known}” and “{path}” of the site differ only in case or Unicode form")
        if not known_is_folder:
            kind = "below a file or symbolic link" if is_folder else "twice in the tree"
            raise UpstreamRejected(f"The site contains an entry {kind}: “{path}”")
        if not is_folder:
            raise UpstreamRejected(f"The site contains an entry twice in the tree: “{path}”")


def write_site(
    folder: Path, files: Iterable[SiteFile], *, user: int | None, max_bytes: int, folders: Iterable[str]
) -> None:
    """Write the files and create `folders` below an existing empty folder.

    Raises:
        UpstreamRejected: the files are larger than `max_bytes`, or an entry is invalid.
    """
    total = 0
    with closing(SiteWriter(folder, user)) as writer:
        for file in files:
            total += len(file.content)
            if total > max_bytes:
                raise UpstreamRejected("The site is larger than the disk of a sandbox")
            writer.write(file)
        for path in folders:
            writer.make_folder(path)


def _folded(path: str) -> str:
    """Return the canonical caseless form of a path (Unicode, section 3.13, D145)."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())
