"""Tests of the removal of deep trees, for which recursion or long paths fail."""

import os
from pathlib import Path

import pytest

from app.drivers.sandbox.local.removal import remove_tree


def make_deep(folder: Path, levels: int) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 20, dir_fd=descriptor)
        child = os.open("d" * 20, os.O_RDONLY, dir_fd=descriptor)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=child))
        os.close(descriptor)
        descriptor = child
    os.close(descriptor)


@pytest.mark.parametrize("levels", [1, 3000])
def test_remove_tree_deep_folders_are_removed(tmp_path: Path, levels: int) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    make_deep(folder, levels)
    remove_tree(folder)
    assert list(tmp_path.iterdir()) == []


def test_remove_tree_wide_folders_with_closed_modes_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "wide"
    for outer in range(10):
        for inner in range(10):
            (folder / str(outer) / str(inner)).mkdir(parents=True)
            (folder / str(outer) / str(inner) / "file").touch()
        (folder / str(outer)).chmod(0)
    folder.chmod(0)
    remove_tree(folder)
    assert not folder.exists()


def test_remove_tree_link_target_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(target)
    remove_tree(folder)
    assert (target / "file").exists()
    assert not folder.exists()


def test_remove_tree_missing_folder_is_no_error(tmp_path: Path) -> None:
    remove_tree(tmp_path / "missing")
