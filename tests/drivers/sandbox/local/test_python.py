"""Tests of the Python that a sandbox gets. The programs are scripts that imitate the description of a version."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.python import PythonProgram, installations, select_python

SYSTEM = PythonProgram((3, 11, 2), "/usr/bin/python3.11", "/usr")
OTHERS = [PythonProgram((3, minor, 1), f"/opt/{minor}/bin/python3.{minor}", f"/opt/{minor}") for minor in (12, 13, 10)]


@pytest.fixture(autouse=True)
def _cache() -> Iterator[None]:
    installations.cache_clear()
    yield
    installations.cache_clear()


def write_program(folder: Path, name: str, version: str, prefix: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\necho \'[[{version}], "{program}", "{prefix}"]\'\n')
    program.chmod(0o755)


class TestSelectPython:
    @pytest.mark.parametrize(
        ("declared", "minor"),
        [(None, 13), (">=3.9", 13), ("<3.13", 12), ("==3.12.*", 12), ("==3.10.*", 10), ("==3.8.*", 11), ("text", 13)],
    )
    def test_newest_version_that_the_site_permits_is_selected(self, declared: str | None, minor: int) -> None:
        assert select_python(declared, [SYSTEM, *OTHERS]).version[1] == minor

    def test_system_precedes_another_installation_of_its_version(self) -> None:
        other = PythonProgram((3, 11, 9), "/opt/11/bin/python3.11", "/opt/11")
        assert select_python(None, [SYSTEM, other]) == SYSTEM

    def test_installation_outside_of_the_system_is_mounted(self) -> None:
        assert SYSTEM.mounts() == []
        assert OTHERS[0].mounts() == [{"source": "/opt/12", "inside": "/opt/12"}]

    def test_machine_without_python_is_rejected(self) -> None:
        with pytest.raises(UpstreamRejected) as rejected:
            select_python(None, [])
        assert rejected.value.code == "RUNTIME_UNAVAILABLE"


class TestInstallations:
    def test_programs_of_the_path_are_described(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_program(tmp_path / "bin", "python3.14", "3, 14, 2", tmp_path)
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:/bin")
        assert PythonProgram((3, 14, 2), f"{tmp_path}/bin/python3.14", str(tmp_path)) in installations()

    def test_wrappers_and_failing_programs_are_ignored(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_program(tmp_path / "bin", "python3.14", "3, 14, 2", tmp_path / "elsewhere")
        (tmp_path / "bin" / "python3.13").write_text("#!/bin/sh\nexit 127\n")
        (tmp_path / "bin" / "python3.13").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}/bin")
        assert [program.version for program in installations(())] == [sys.version_info[:3]]
