"""Tests of the key of cached dependencies."""

from pathlib import Path

import pytest

from app.drivers.sandbox.local.dependency_cache import cache_entry_for
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
