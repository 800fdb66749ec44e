"""Tests of the requirements of a jail. Without them no site runs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local import confinement
from app.drivers.sandbox.local.confinement import check_confinement, tools
from app.drivers.sandbox.local.supervisor.bubblewrap import TOOLS
from app.drivers.sandbox.none import NoSandboxes
from app.drivers.sandbox.port import Phase, SandboxUnavailable
from app.runtimes.recipe import Recipe

ROOT = Path(__file__).resolve().parents[4]
START = """
import sys
from pathlib import Path
from app.runtimes.choose import static
from app.drivers.sandbox.local.host import LocalSandboxes
from app.drivers.sandbox.port import SandboxSpec, SandboxUnavailable
host = LocalSandboxes(Path(sys.argv[1]))
try:
    host.start(SandboxSpec("a", "o", static(), 60), [])
except SandboxUnavailable as error:
    print(error.code, list(host.list_sandboxes()))
"""

# The event loop of gevent is idle during the start, so it closes no descriptor.
OPTIONS = """
from gevent import get_hub, monkey
monkey.patch_all()
import os
from app.drivers.sandbox.local.supervisor.bubblewrap import command
get_hub()
_, options = command([], None, ["/usr/bin/true"], info_fd=1, files={}, seccomp=None)
os.set_blocking(options, False)
print(b"--unshare-user" in os.read(options, 65536), os.read(options, 1))
"""


class TestOptions:
    def test_options_end_in_a_patched_process_without_the_event_loop(self) -> None:
        done = subprocess.run([sys.executable, "-c", OPTIONS], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.stdout == "True b''\n", done.stderr


class TestConfinement:
    @pytest.mark.parametrize("bwrap", [None, "#!/bin/sh\nexit 1\n"], ids=["there is none", "it is not allowed"])
    def test_start_without_a_working_bubblewrap_is_refused(self, tmp_path: Path, bwrap: str | None) -> None:
        path = tmp_path / "bin"
        path.mkdir()
        for name in ("sh", "unshare", "setpriv", "mount", "true"):
            (path / name).symlink_to(f"/usr/bin/{name}")
        if bwrap is not None:
            (path / "bwrap").write_text(bwrap)
            (path / "bwrap").chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", START, str(tmp_path / "sandboxes")],
            cwd=ROOT,
            env={"PATH": str(path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stdout == "SANDBOX_UNAVAILABLE ()\n" or done.stdout == "SANDBOX_UNAVAILABLE []\n"

    def test_bubblewrap_that_does_not_end_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def run(argv: list[str], **options: Any) -> None:
            raise subprocess.TimeoutExpired(argv, options["timeout"])

        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setattr(confinement, "_checked_at", float("-inf"))
        with pytest.raises(SandboxUnavailable, match="did not start within 20 s"):
            check_confinement()

    def test_disabled_host_raises_sandbox_unavailable(self) -> None:
        host = NoSandboxes()
        with pytest.raises(SandboxUnavailable) as refused:
            host.check()
        assert refused.value.code == "SANDBOX_UNAVAILABLE"
        assert host.status("x").phase is Phase.ENDED
        host.stop("x")


class TestTools:
    def test_hugo_is_provided_by_the_service(self) -> None:
        (probe_results,) = tools(Recipe((), tools=("hugo",)))
        assert probe_results["inside"] == f"{TOOLS}/hugo"
        assert os.access(str(probe_results["source"]), os.X_OK)

    def test_machine_without_hugo_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "hugo", None)  # the import system finds no such package
        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(UpstreamRejected, match="The server cannot run hugo: install hugo") as refused:
            tools(Recipe((), tools=("hugo",)))
        assert refused.value.code == "RUNTIME_UNAVAILABLE"

    def test_missing_tool_raises_upstream_rejected(self) -> None:
        with pytest.raises(UpstreamRejected, match="cannot run no_such_thing"):
            tools(Recipe((), tools=("no_such_thing",)))
