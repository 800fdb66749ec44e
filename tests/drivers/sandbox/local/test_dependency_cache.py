"""Tests of the key and the eviction of cached dependencies."""

import os
from pathlib import Path

import pytest

from app.drivers.sandbox.local.dependency_cache import MAX_ENTRIES, cache_entry_for, evict_old
from app.drivers.sandbox.local.python import PythonProgram
from app.runtimes.recipe import Recipe

RECIPE = Recipe(("python3", "-m", "mkdocs"), install=(("pip", "install", "x"),), tools=("pip",), dependencies="key")


def test_cache_entry_depends_on_the_version_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = set()
    for minor in (11, 12):
        program = PythonProgram((3, minor, 1), "/usr/bin/python3", "/usr")
        monkeypatch.setattr("app.drivers.sandbox.local.dependency_cache.select_python", lambda _, found=program: found)
        entry = cache_entry_for(tmp_path, "owner", RECIPE)
        assert entry is not None
        folders.add(entry.folder)
    assert len(folders) == 2


def test_eviction_ignores_entries_that_another_process_removes_after_the_listing(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES + 2):
        folder = tmp_path / f"entry{number}"
        folder.mkdir()
        os.utime(folder, (number, number))
    (tmp_path / "removed").symlink_to("missing")  # listed, but not found
    evict_old(tmp_path)
    (tmp_path / "removed").unlink()
    assert {folder.name for folder in tmp_path.iterdir()} == {f"entry{number}" for number in range(2, MAX_ENTRIES + 2)}
