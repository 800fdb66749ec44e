"""Removal of folder trees of any depth and with any modes, without recursion and without following links."""

import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.drivers.sandbox.local.supervisor.usage import FOLDER_FLAGS, make_accessible


def remove_tree(folder: Path) -> None:
    """Remove a folder and its contents. A missing folder is not an error.

    Each folder below the first level moves to the first level when its parent is removed, and is removed next. The
    depth of the tree therefore needs neither stack nor descriptors, no path becomes longer than the kernel permits, and
    each folder is read once. Raises OSError.
    """
    prefix, numbers = secrets.token_hex(8), itertools.count()
    names = (f"{prefix}.{number}" for number in numbers)
    with suppress(FileNotFoundError):
        folder.chmod(stat.S_IRWXU)
        with _open(folder) as root:
            # Another process may remove the same tree and add folders with other names.
            while pending := _unlink_files(root):
                while pending:
                    pending += _remove_folder(root, pending.pop(), names)
        folder.rmdir()


def _remove_folder(root: int, name: str, new_names: Iterator[str]) -> list[str]:
    """Remove a folder of `root`. Its own folders become folders of `root`; return their names."""
    moved = []
    with suppress(FileNotFoundError):
        make_accessible(root, name)
        with _open(name, root) as folder:
            for child in _unlink_files(folder):
                make_accessible(folder, child)
                new_name = next(new_names)
                os.rename(child, new_name, src_dir_fd=folder, dst_dir_fd=root)
                moved.append(new_name)
        os.rmdir(name, dir_fd=root)
    return moved


def _unlink_files(descriptor: int) -> list[str]:
    """Remove the entries of a folder that are not folders. Return the names of its folders."""
    folders = []
    with os.scandir(descriptor) as entries:
        for name, is_folder in [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]:
            if is_folder:
                folders.append(name)
            else:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=descriptor)
    return folders


@contextmanager
def _open(path: Path | str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, FOLDER_FLAGS, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
