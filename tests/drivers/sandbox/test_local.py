"""Sandboxes on this machine: the contract, and that nothing of them stays."""

import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.limits import SandboxLimits
from app.core.runtimes.choose import static
from app.core.runtimes.recipe import Recipe
from app.drivers.errors import Rejected
from app.drivers.sandbox.local import LocalSandboxes
from app.drivers.sandbox.port import Order, Phase, SandboxGone, SiteFile
from tests.drivers.sandbox.contract import SITE, SandboxContract, fetch, python, serving, wait_for, wait_for_gone
from tests.drivers.sandbox.machine import is_alive, jails_of, leftovers


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Deep enough that no socket below it has an address of 108 bytes."""
    return tmp_path / ("long" * 20) / "sandboxes"


@pytest.fixture
def host(root: Path) -> LocalSandboxes:
    return LocalSandboxes(root)


class TestLocal(SandboxContract):
    @pytest.fixture
    def again(self, root: Path) -> LocalSandboxes:
        return LocalSandboxes(root)

    def test_a_name_that_is_no_name_leads_nowhere(self, host: LocalSandboxes) -> None:
        for name in ("../escape", "", ".kept", "a/b", "A" * 10):
            with pytest.raises(SandboxGone):
                host.look(name)

    def test_a_site_larger_than_the_disk_is_refused_and_leaves_nothing(self, root: Path) -> None:
        host = LocalSandboxes(root, limits=SandboxLimits(disk_bytes=1000))
        with pytest.raises(Rejected, match="larger"):
            host.start(Order("toolarge", "o", static(), 60), [SiteFile("big", "100644", b"x" * 1001)])
        assert host.names() == {}

    def test_a_path_out_of_the_site_is_refused(self, host: LocalSandboxes) -> None:
        for path in ("../outside", "/etc/passwd", "a/../../b"):
            with pytest.raises(Rejected):
                host.start(Order("badpath", "o", static(), 60), [SiteFile(path, "100644", b"")])
        assert host.names() == {}

    def test_a_file_never_goes_through_a_link_of_the_site(self, host: LocalSandboxes, tmp_path: Path) -> None:
        files = [SiteFile("out", "120000", str(tmp_path).encode()), SiteFile("out/evil", "100644", b"evil")]
        host.start(Order("links", "o", static(), 60), files)
        assert not (tmp_path / "evil").exists()

    def test_an_unknown_tool_is_refused(self, host: LocalSandboxes) -> None:
        with pytest.raises(Rejected) as refused:
            host.start(Order("tools", "o", Recipe(("x",), tools=("no_such_generator",)), 60), SITE)
        assert refused.value.code == "RUNTIME_UNAVAILABLE"

    def test_the_log_keeps_its_end_and_no_more_than_its_limit(self, root: Path) -> None:
        host = LocalSandboxes(root, limits=SandboxLimits(log_bytes=20_000))
        noisy = "for n in range(30000): print('line', n, flush=True)\n" + serving("b''")
        reference = self.running(host, python(noisy))
        assert "line 29999" in host.look(reference).log
        assert sum(path.stat().st_size for path in (root / reference).glob("log*")) <= 20_000

    def test_an_installation_that_takes_too_long_is_ended(self, root: Path) -> None:
        host = LocalSandboxes(root, install_timeout_s=1)
        reference = self.start(host, python(serving("b''"), install="import time; time.sleep(60)"))
        assert wait_for(host, reference, Phase.FAILED).problem == "The installation took too long"


class TestNothingStays:
    def test_ten_cycles_leave_no_process_mount_folder_or_socket(self, host: LocalSandboxes, root: Path) -> None:
        before = leftovers(root)
        for _ in range(10):
            name = uuid.uuid4().hex
            host.start(Order(name, "o", static(), 60), SITE)
            wait_for(host, name, Phase.READY)
            fetch(host, name)
            host.stop(name)
        assert leftovers(root) == before

    def test_a_jail_dies_with_its_killed_supervisor(self, host: LocalSandboxes, root: Path) -> None:
        name = uuid.uuid4().hex
        host.start(Order(name, "o", static(), 60), SITE)
        wait_for(host, name, Phase.READY)
        supervisor, *jail = jails_of(root, name)
        os.kill(supervisor, signal.SIGKILL)
        wait_for_gone(host, name, within_s=5)
        deadline = time.monotonic() + 5
        while any(map(is_alive, jail)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        host.stop(name)
        assert host.names() == {}

    def test_a_supervisor_that_hangs_is_ended_by_force(self, host: LocalSandboxes, root: Path) -> None:
        name = uuid.uuid4().hex
        host.start(Order(name, "o", static(), 60), SITE)
        wait_for(host, name, Phase.READY)
        processes = jails_of(root, name)
        os.kill(processes[0], signal.SIGSTOP)
        host.stop(name)
        time.sleep(0.2)
        assert not any(map(is_alive, processes))
        assert host.names() == {}

    def test_a_sandbox_outlives_the_process_that_started_it(self, root: Path) -> None:
        name = uuid.uuid4().hex
        program = (
            "import sys; from pathlib import Path; from app.drivers.sandbox.local import LocalSandboxes; "
            "from app.drivers.sandbox.port import Order; from app.core.runtimes.choose import static; "
            f"LocalSandboxes(Path(sys.argv[1])).start(Order('{name}', 'o', static(), 60), [])"
        )
        repo = Path(__file__).resolve().parents[3]
        subprocess.run([os.sys.executable, "-c", program, str(root)], cwd=repo, check=True, timeout=60)
        host = LocalSandboxes(root)
        wait_for(host, name, Phase.READY)
        host.stop(name)

    def test_folders_that_the_site_closed_are_removed_as_well(self, host: LocalSandboxes) -> None:
        name = uuid.uuid4().hex
        closing = "import os; os.makedirs('a/b/c'); os.chmod('a/b', 0); os.chmod('a', 0)\n" + serving("b''")
        host.start(Order(name, "o", python(closing), 60), SITE)
        wait_for(host, name, Phase.READY)
        host.stop(name)
        assert host.names() == {}


FILL = "import os; os.makedirs('node_modules/made', exist_ok=True); open('node_modules/made/by', 'w').write('install')"
READ = serving(
    "str([sorted(os.listdir('node_modules')), os.access('node_modules/made', os.W_OK), os.access('node_modules/.vite', os.W_OK)]).encode()"
)


class TestDependencies:
    def run(self, host: LocalSandboxes, *, owner: str = "prj_1", lock: str = "lock", install: str = FILL) -> str:
        recipe = Recipe(("python3", "-c", READ), install=(("python3", "-c", install),), dependencies=lock)
        name = uuid.uuid4().hex
        host.start(Order(name, owner, recipe, 60), SITE)
        wait_for(host, name, Phase.READY)
        return fetch(host, name)[1].decode()

    @pytest.fixture(autouse=True)
    def _nothing_left(self, host: LocalSandboxes) -> Iterator[None]:
        yield
        for name in host.names():
            host.stop(name)

    def test_a_second_sandbox_of_the_same_lock_gets_them_read_only_and_installs_nothing(
        self, host: LocalSandboxes
    ) -> None:
        first = self.run(host)
        second = self.run(host, install="raise SystemExit(1)")
        assert first == "[['.astro', '.cache', '.tmp', '.vite', '.vite-temp', 'made'], True, True]"
        assert second == first.replace("], True, True", "], False, True")

    def test_they_outlive_the_sandbox_that_made_them(self, host: LocalSandboxes) -> None:
        self.run(host)
        for name in host.names():
            host.stop(name)
        assert "'made'" in self.run(host, install="raise SystemExit(1)")

    def test_another_owner_or_lock_installs_its_own(self, host: LocalSandboxes) -> None:
        self.run(host)
        nothing = "import os; os.makedirs('node_modules/other')"
        other = nothing.replace("other", "made") + "; open('mine', 'w').close()"
        assert "True, True" in self.run(host, owner="prj_2", install=other)
        assert "True, True" in self.run(host, lock="another", install=other)

    def test_what_failed_is_not_kept(self, host: LocalSandboxes, root: Path) -> None:
        recipe = Recipe(("x",), install=(("python3", "-c", FILL + "; raise SystemExit(1)"),), dependencies="lock")
        host.start(Order("failing", "prj_1", recipe, 60), SITE)
        wait_for(host, "failing", Phase.FAILED)
        assert not (root / ".kept").exists()

    def test_old_ones_beyond_twenty_are_forgotten(self, host: LocalSandboxes, root: Path) -> None:
        for number in range(23):
            folder = root / ".kept" / f"k{number}"
            folder.mkdir(parents=True)
            os.utime(folder, (number, number))
        self.run(host)
        assert len(list((root / ".kept").iterdir())) == 21


class TestEgress:
    def test_a_host_of_the_list_is_reached_while_installing_and_no_other(self, root: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as allowed, socket.create_server(("127.0.0.1", 0)) as other:
            ports = allowed.getsockname()[1], other.getsockname()[1]
            host = LocalSandboxes(root, egress=[f"127.0.0.1:{ports[0]}"])
            install = CONNECT.format(ports=list(ports), target="out")
            name = uuid.uuid4().hex
            host.start(Order(name, "o", python(serving("open('out').read().encode()"), install=install), 60), SITE)
            wait_for(host, name, Phase.READY)
            assert fetch(host, name)[1] == b"200 403"
            host.stop(name)

    def test_nothing_is_reached_while_serving(self, root: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as allowed:
            port = allowed.getsockname()[1]
            host = LocalSandboxes(root, egress=[f"127.0.0.1:{port}"])
            reach = serving(
                "__import__('subprocess').run(['python3', '-c', open('reach.py').read()], capture_output=True).stdout"
            )
            files = [*SITE, SiteFile("reach.py", "100644", UNIX.encode())]
            name = uuid.uuid4().hex
            host.start(Order(name, "o", python(reach, install="pass"), 60), files)
            wait_for(host, name, Phase.READY)
            assert fetch(host, name)[1] == b"refused\n"
            host.stop(name)


CONNECT = """
import os, socket, urllib.parse
found = []
proxy = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])
for port in {ports}:
    with socket.create_connection((proxy.hostname, proxy.port)) as way:
        way.sendall(b'CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % port)
        found.append(way.recv(100).split()[1].decode())
open('{target}', 'w').write(' '.join(found))
"""
UNIX = """
import socket
try:
    with socket.socket(socket.AF_UNIX) as way:
        way.connect('/run/egress.sock')
        way.sendall(b'CONNECT 127.0.0.1:1 HTTP/1.1\\r\\n\\r\\n')
        print('open' if way.recv(1) else 'refused')
except OSError:
    print('refused')
"""
