"""Tests of the specification of a sandbox: the programs and the search path of its commands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core.limits import SandboxLimits
from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local import golang, supervisor_client
from app.drivers.sandbox.local.python import PythonProgram
from app.drivers.sandbox.local.supervisor_client import specification
from app.drivers.sandbox.port import SandboxSpec
from app.runtimes.recipe import PORT, Recipe


def specify(recipe: Recipe) -> dict[str, Any]:
    sandbox_spec = SandboxSpec("name", "owner", recipe, 60)
    limits = SandboxLimits()
    return specification(
        Path("/folder"),
        sandbox_spec,
        None,
        user=None,
        image=False,
        egress=(),
        limits=limits,
        install_timeout_s=1,
        serve_timeout_s=1,
        build_timeout_s=1,
    )


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Select Python 3.12 below `/opt` for each site."""
    program = PythonProgram((3, 12, 1), "/opt/p/bin/python3.12", "/opt/p")
    for module in ("supervisor_client", "confinement"):
        monkeypatch.setattr(f"app.drivers.sandbox.local.{module}.select_python", lambda _declared: program)


@pytest.fixture(autouse=True)
def _cache() -> Iterator[None]:
    golang.go_root.cache_clear()
    yield
    golang.go_root.cache_clear()


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install Go in a folder that is on the `PATH`."""
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {tmp_path}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin")
    return tmp_path


@pytest.mark.usefixtures("python")
class TestPython:
    def test_commands_of_a_python_site_start_with_the_selected_program(self) -> None:
        install = (("pip", "install", "a"), ("python3", "-m", "b"), ("sh", "-c", "python3"))
        specified = specify(Recipe(("python", "-m", "http.server", PORT), install=install, tools=("pip",)))
        assert specified["serve"] == ["/opt/p/bin/python3.12", "-m", "http.server", str(supervisor_client.PORT_INSIDE)]
        assert specified["install"] == [
            ["/opt/p/bin/python3.12", "-m", "pip", "install", "a"],
            ["/opt/p/bin/python3.12", "-m", "b"],
            ["sh", "-c", "python3"],
        ]
        assert {"source": "/opt/p", "inside": "/opt/p"} in specified["mounts"]

    def test_commands_of_other_sites_do_not_change(self) -> None:
        specified = specify(Recipe(("python3", "-m", "http.server")))
        assert specified["serve"][0] == "python3"

    def test_programs_of_installed_packages_are_on_the_search_path(self) -> None:
        specified = specify(Recipe(("mkdocs", "serve"), environment={"PYTHONPATH": "/tmp/python"}, tools=("pip",)))
        assert "/tmp/python/bin" in specified["environment"]["PATH"].split(":")


class TestGo:
    def test_installation_is_mounted_and_on_the_search_path(self, go: Path) -> None:
        specified = specify(Recipe(("hugo",), tools=("go",)))
        assert {"source": str(go), "inside": golang.MOUNTED_ROOT} in specified["mounts"]
        assert f"{golang.MOUNTED_ROOT}/bin" in specified["environment"]["PATH"].split(":")

    def test_machine_without_go_has_no_installation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nonexistent")
        assert golang.go_root("/nonexistent/go") is None

    def test_go_that_does_not_start_is_rejected(self, go: Path) -> None:
        (go / "bin" / "go").write_text("#!/nonexistent\n")
        with pytest.raises(UpstreamRejected) as rejected:
            specify(Recipe(("hugo",), tools=("go",)))
        assert rejected.value.code == "RUNTIME_UNAVAILABLE"
