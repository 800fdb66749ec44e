"""What a jail needs from the machine, and that nothing runs without it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.drivers.errors import Rejected
from app.drivers.sandbox.local_tools import tools
from app.drivers.sandbox.none import NoSandboxes
from app.drivers.sandbox.port import Phase, SandboxUnavailable
from app.drivers.sandbox.supervising.jail import TOOLS

ROOT = Path(__file__).resolve().parents[3]
START = """
import sys
from pathlib import Path
from app.core.runtimes.choose import static
from app.drivers.sandbox.local import LocalSandboxes
from app.drivers.sandbox.port import Order, SandboxUnavailable
host = LocalSandboxes(Path(sys.argv[1]))
try:
    host.start(Order("a", "o", static(), 60), [])
except SandboxUnavailable as error:
    print(error.code, list(host.names()))
"""


class TestConfinement:
    @pytest.mark.parametrize("bwrap", [None, "#!/bin/sh\nexit 1\n"], ids=["there is none", "it is not allowed"])
    def test_without_a_working_bubblewrap_nothing_is_started(self, tmp_path: Path, bwrap: str | None) -> None:
        place = tmp_path / "bin"
        place.mkdir()
        for name in ("sh", "unshare", "setpriv", "mount", "true"):
            (place / name).symlink_to(f"/usr/bin/{name}")
        if bwrap is not None:
            (place / "bwrap").write_text(bwrap)
            (place / "bwrap").chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", START, str(tmp_path / "sandboxes")],
            cwd=ROOT,
            env={"PATH": str(place)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stdout == "SANDBOX_UNAVAILABLE ()\n" or done.stdout == "SANDBOX_UNAVAILABLE []\n"

    def test_a_switched_off_host_says_so(self) -> None:
        host = NoSandboxes()
        with pytest.raises(SandboxUnavailable) as refused:
            host.check()
        assert refused.value.code == "SANDBOX_UNAVAILABLE"
        assert host.look("x").phase is Phase.GONE
        host.stop("x")


class TestTools:
    def test_hugo_comes_with_the_service(self) -> None:
        (found,) = tools(["hugo"])
        assert found["inside"] == f"{TOOLS}/hugo"
        assert os.access(str(found["source"]), os.X_OK)

    def test_what_is_not_there_is_refused(self) -> None:
        with pytest.raises(Rejected, match="cannot run no_such_thing"):
            tools(["no_such_thing"])
