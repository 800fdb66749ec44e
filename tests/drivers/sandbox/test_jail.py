"""Tests of the confinement of a jail. Each probe tries to reach a resource outside and must fail."""

import json
import os
import platform
import re
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.drivers.sandbox.local.host import LocalSandboxes
from app.drivers.sandbox.port import Phase, SandboxSpec, SiteFile
from app.runtimes.choose import static
from app.runtimes.recipe import Recipe
from tests.drivers.sandbox.contract import SITE, fetch, wait_for
from tests.drivers.sandbox.machine import jails_of

SCRIPT = Path(__file__).with_name("probes.py").read_bytes()
OWN = ("PATH", "HOME", "LANG", "PWD", "PORT", "HOST", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
"""Variables that every site receives. Their values belong to the jail."""

NAMES = re.findall(r"@probe\ndef (\w+)", SCRIPT.decode())
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the probes call the kernel by that machine's numbers"
)
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def probe_results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Return the result of each probe in a jail next to a second jail, with open ports and readable files outside."""
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
        host.start(SandboxSpec("other", "o", static(), 120), SITE)
        wait_for(host, "other", Phase.READY)
        parameters = {
            "secret": secret,
            "secret_file": str(secret_file),
            "sandboxes": str(root),
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
        files = [
            SiteFile("probes.py", "100644", SCRIPT),
            SiteFile("parameters.json", "100644", json.dumps(parameters).encode()),
        ]
        recipe = Recipe(static().serve, install=(("python3", "probes.py"),))
        host.start(SandboxSpec("jail", "o", recipe, 120), files)
        wait_for(host, "jail", Phase.READY)
        yield json.loads(fetch(host, "jail", "/probe_results.json")[1])
        for name in host.list_sandboxes():
            host.stop(name)


def _address() -> str:
    """Return an IPv4 address of this machine that is not loopback, or the loopback address."""
    entries = (entry for entries in psutil.net_if_addrs().values() for entry in entries)
    addresses = [entry.address for entry in entries if entry.family == socket.AF_INET]
    return next((address for address in addresses if not address.startswith("127.")), "127.0.0.1")


class TestProbes:
    @pytest.mark.parametrize("name", NAMES)
    def test_probe_reaches_no_outside_resource(self, probe_results: dict[str, Any], name: str) -> None:
        assert probe_results[name] is None

    def test_probes_were_all_run(self, probe_results: dict[str, Any]) -> None:
        assert len(NAMES) >= 30
        assert sorted(probe_results) == sorted(NAMES)
