"""What a site's code can get at from inside a jail: nothing. Each probe tries; this names those that got something."""

import json
import os
import platform
import re
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core.runtimes.choose import static
from app.core.runtimes.recipe import Recipe
from app.drivers.sandbox.local import LocalSandboxes
from app.drivers.sandbox.port import Order, Phase, SiteFile
from tests.drivers.sandbox.contract import SITE, fetch, wait_for
from tests.drivers.sandbox.machine import jails_of

SCRIPT = Path(__file__).with_name("probes.py").read_bytes()
OWN = ("PATH", "HOME", "LANG", "PWD", "PORT", "HOST", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
"""What every site is told; the values are the jail's."""

NAMES = re.findall(r"@probe\ndef (\w+)", SCRIPT.decode())
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the probes call the kernel by that machine's numbers"
)
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What each probe got, run in one jail beside another on a machine with open ports and files."""
    root = tmp_path_factory.mktemp("jail") / "sandboxes"
    secret = uuid.uuid4().hex
    secret_file = root.parent / "secret.txt"
    secret_file.write_text(secret)
    secret_file.chmod(0o644)
    abstract = f"galley-{secret}"
    host = LocalSandboxes(root, egress=["127.0.0.1:5432"])
    with (
        socket.create_server(("0.0.0.0", 0)) as service,  # noqa: S104
        socket.socket(socket.AF_UNIX) as listening,
    ):
        listening.bind("\0" + abstract)
        listening.listen()
        host.start(Order("other", "o", static(), 120), SITE)
        wait_for(host, "other", Phase.READY)
        given = {
            "secret": secret,
            "secret_file": str(secret_file),
            "secret_name": secret_file.name,
            "repository": str(REPOSITORY),
            "environment": [name for name in os.environ if name not in OWN],
            "service_pid": os.getpid(),
            "service_port": service.getsockname()[1],
            "address": _address(),
            "abstract": abstract,
            "other_sandbox": str(root / "other" / "work"),
            "sockets": [str(root / "other" / name) for name in ("control.sock", "serve.sock", "egress.sock")],
        }
        assert jails_of(root, "other")
        files = [SiteFile("probes.py", "100644", SCRIPT), SiteFile("given.json", "100644", json.dumps(given).encode())]
        recipe = Recipe(static().serve, install=(("python3", "probes.py"),))
        host.start(Order("jail", "o", recipe, 120), files)
        wait_for(host, "jail", Phase.READY)
        yield json.loads(fetch(host, "jail", "/found.json")[1])
        for name in host.names():
            host.stop(name)


def _address() -> str:
    """An address of this machine other than its loopback, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


class TestReach:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_probe_gets_nothing(self, found: dict[str, Any], name: str) -> None:
        assert found[name] is None

    def test_every_probe_was_run(self, found: dict[str, Any]) -> None:
        assert len(NAMES) >= 30
        assert sorted(found) == sorted(NAMES)
