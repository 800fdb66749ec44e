"""Tests of local sandboxes: the contract, and no remains of an ended sandbox."""

import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.core.limits import SandboxLimits
from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.local.confinement import supports_images
from app.drivers.sandbox.local.host import LocalSandboxes
from app.drivers.sandbox.port import Phase, SandboxEnded, SandboxSpec, SandboxStatus, SiteFile
from app.runtimes.choose import choose_recipe, static
from app.runtimes.recipe import PreviewAddress, Recipe
from tests.drivers.sandbox.contract import SITE, SandboxContract, fetch, python, serving, wait_for, wait_for_end
from tests.drivers.sandbox.machine import is_alive, jails_of, leftovers


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder so deep that the paths of its sockets exceed 108 bytes."""
    return tmp_path / ("long" * 20) / "sandboxes"


@pytest.fixture
def host(root: Path) -> LocalSandboxes:
    return LocalSandboxes(root)


class TestLocal(SandboxContract):
    @pytest.fixture
    def again(self, root: Path) -> LocalSandboxes:
        return LocalSandboxes(root)

    def test_status_of_an_invalid_name_raises_sandbox_ended(self, host: LocalSandboxes) -> None:
        for name in ("../escape", "", ".kept", "a/b", "A" * 10):
            with pytest.raises(SandboxEnded):
                host.status(name)

    def test_start_of_an_oversized_site_is_refused_and_leaves_no_sandbox(self, root: Path) -> None:
        host = LocalSandboxes(root, limits=SandboxLimits(disk_bytes=1000))
        with pytest.raises(UpstreamRejected, match="larger"):
            host.start(SandboxSpec("toolarge", "o", static(), 60), [SiteFile("big", "100644", b"x" * 1001)])
        assert host.list_sandboxes() == {}

    def test_start_with_a_path_out_of_the_site_is_refused(self, host: LocalSandboxes) -> None:
        for path in ("../outside", "/etc/passwd", "a/../../b"):
            with pytest.raises(UpstreamRejected):
                host.start(SandboxSpec("badpath", "o", static(), 60), [SiteFile(path, "100644", b"")])
        assert host.list_sandboxes() == {}

    @pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["link first", "file first"])
    def test_start_file_below_link_is_refused(self, host: LocalSandboxes, tmp_path: Path, order: slice) -> None:
        files = [SiteFile("out", "120000", str(tmp_path).encode()), SiteFile("out/evil", "100644", b"evil")]
        with pytest.raises(UpstreamRejected, match="out"):
            host.start(SandboxSpec("links", "o", static(), 60), files[order])
        assert not (tmp_path / "evil").exists()
        assert host.list_sandboxes() == {}

    def test_start_with_an_unknown_tool_raises_runtime_unavailable(self, host: LocalSandboxes) -> None:
        with pytest.raises(UpstreamRejected) as refused:
            host.start(SandboxSpec("tools", "o", Recipe(("x",), tools=("no_such_generator",)), 60), SITE)
        assert refused.value.code == "RUNTIME_UNAVAILABLE"

    def test_log_keeps_its_end_within_the_size_limit(self, root: Path) -> None:
        host = LocalSandboxes(root, limits=SandboxLimits(log_bytes=20_000))
        noisy = "for n in range(30000): print('line', n, flush=True)\n" + serving("b''")
        reference = self.running(host, python(noisy))
        assert "line 29999" in host.status(reference).log
        assert sum(path.stat().st_size for path in (root / reference).glob("log*")) <= 20_000

    def test_installation_timeout_ends_the_sandbox(self, root: Path) -> None:
        host = LocalSandboxes(root, install_timeout_s=1)
        reference = self.start(host, python(serving("b''"), install="import time; time.sleep(60)"))
        assert wait_for(host, reference, Phase.FAILED).problem == "The installation took too long"


class TestCleanUp:
    def test_stop_after_ten_cycles_leaves_no_process_mount_folder_or_socket(
        self, host: LocalSandboxes, root: Path
    ) -> None:
        before = leftovers(root)
        for _ in range(10):
            name = uuid.uuid4().hex
            host.start(SandboxSpec(name, "o", static(), 60), SITE)
            wait_for(host, name, Phase.READY)
            fetch(host, name)
            host.stop(name)
        assert leftovers(root) == before

    def test_killed_supervisor_ends_its_jail(self, host: LocalSandboxes, root: Path) -> None:
        name = uuid.uuid4().hex
        host.start(SandboxSpec(name, "o", static(), 60), SITE)
        wait_for(host, name, Phase.READY)
        supervisor, *jail = jails_of(root, name)
        os.kill(supervisor, signal.SIGKILL)
        wait_for_end(host, name)
        deadline = time.monotonic() + 60
        while any(map(is_alive, jail)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        host.stop(name)
        assert host.list_sandboxes() == {}

    def test_stop_kills_a_stopped_supervisor(self, host: LocalSandboxes, root: Path) -> None:
        name = uuid.uuid4().hex
        host.start(SandboxSpec(name, "o", static(), 60), SITE)
        wait_for(host, name, Phase.READY)
        processes = jails_of(root, name)
        os.kill(processes[0], signal.SIGSTOP)
        host.stop(name)
        time.sleep(0.2)
        assert not any(map(is_alive, processes))
        assert host.list_sandboxes() == {}

    def test_sandbox_survives_the_process_that_started_it(self, root: Path) -> None:
        name = uuid.uuid4().hex
        program = (
            "import sys; from pathlib import Path; from app.drivers.sandbox.local.host import LocalSandboxes; "
            "from app.drivers.sandbox.port import SandboxSpec; from app.runtimes.choose import static; "
            f"LocalSandboxes(Path(sys.argv[1])).start(SandboxSpec('{name}', 'o', static(), 60), [])"
        )
        repo = Path(__file__).resolve().parents[4]
        subprocess.run([os.sys.executable, "-c", program, str(root)], cwd=repo, check=True, timeout=60)
        host = LocalSandboxes(root)
        wait_for(host, name, Phase.READY)
        host.stop(name)

    def test_stop_removes_folders_without_permissions(self, host: LocalSandboxes) -> None:
        name = uuid.uuid4().hex
        closing = "import os; os.makedirs('a/b/c'); os.chmod('a/b', 0); os.chmod('a', 0)\n" + serving("b''")
        host.start(SandboxSpec(name, "o", python(closing), 60), SITE)
        wait_for(host, name, Phase.READY)
        host.stop(name)
        assert host.list_sandboxes() == {}


FILL = "import os; os.makedirs('node_modules/made', exist_ok=True); open('node_modules/made/by', 'w').write('install')"
READ = serving(
    "str([sorted(os.listdir('node_modules')), os.access('node_modules/made', os.W_OK), os.access('node_modules/.vite', os.W_OK)]).encode()"
)


class TestDependencies:
    def run(self, host: LocalSandboxes, *, owner: str = "prj_1", lock: str = "lock", install: str = FILL) -> str:
        recipe = Recipe(("python3", "-c", READ), install=(("python3", "-c", install),), dependencies=lock)
        name = uuid.uuid4().hex
        host.start(SandboxSpec(name, owner, recipe, 60), SITE)
        wait_for(host, name, Phase.READY)
        return fetch(host, name)[1].decode()

    @pytest.fixture(autouse=True)
    def _check_nothing_remains(self, host: LocalSandboxes) -> Iterator[None]:
        yield
        for name in host.list_sandboxes():
            host.stop(name)

    def wait_for_cache(self, root: Path) -> None:
        deadline = time.monotonic() + 120
        while not list((root / ".kept").glob("?" * 64)):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def test_dependencies_of_the_same_lock_are_mounted_read_only_without_installation(
        self, host: LocalSandboxes, root: Path
    ) -> None:
        first = self.run(host)
        self.wait_for_cache(root)
        second = self.run(host, install="raise SystemExit(1)")
        assert first == "[['.astro', '.cache', '.tmp', '.vite', '.vite-temp', 'made'], True, True]"
        assert second == first.replace("], True, True", "], False, True")

    def test_dependencies_survive_the_sandbox_that_installed_them(self, host: LocalSandboxes, root: Path) -> None:
        self.run(host)
        self.wait_for_cache(root)
        for name in host.list_sandboxes():
            host.stop(name)
        assert "'made'" in self.run(host, install="raise SystemExit(1)")

    def test_dependencies_of_another_owner_or_lock_are_installed_separately(self, host: LocalSandboxes) -> None:
        self.run(host)
        nothing = "import os; os.makedirs('node_modules/other')"
        other = nothing.replace("other", "made") + "; open('mine', 'w').close()"
        assert "True, True" in self.run(host, owner="prj_2", install=other)
        assert "True, True" in self.run(host, lock="another", install=other)

    def test_dependencies_of_a_failed_installation_are_not_cached(self, host: LocalSandboxes, root: Path) -> None:
        recipe = Recipe(("x",), install=(("python3", "-c", FILL + "; raise SystemExit(1)"),), dependencies="lock")
        host.start(SandboxSpec("failing", "prj_1", recipe, 60), SITE)
        wait_for(host, "failing", Phase.FAILED)
        assert not (root / ".kept").exists()

    def test_dependencies_beyond_twenty_evict_the_oldest(self, host: LocalSandboxes, root: Path) -> None:
        for number in range(23):
            folder = root / ".kept" / f"k{number}"
            folder.mkdir(parents=True)
            os.utime(folder, (number, number))
        self.run(host)
        self.wait_for_cache(root)
        assert len(list((root / ".kept").iterdir())) == 21


class TestEgress:
    def test_installation_connects_to_listed_hosts_only(self, root: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as allowed, socket.create_server(("127.0.0.1", 0)) as other:
            ports = allowed.getsockname()[1], other.getsockname()[1]
            host = LocalSandboxes(root, egress=[f"127.0.0.1:{ports[0]}"])
            install = CONNECT.format(ports=list(ports), target="out")
            name = uuid.uuid4().hex
            host.start(
                SandboxSpec(name, "o", python(serving("open('out').read().encode()"), install=install), 60), SITE
            )
            wait_for(host, name, Phase.READY)
            assert fetch(host, name)[1] == b"200 403"
            host.stop(name)

    def test_server_cannot_connect_to_any_host(self, root: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as allowed:
            port = allowed.getsockname()[1]
            host = LocalSandboxes(root, egress=[f"127.0.0.1:{port}"])
            reach = serving(
                "__import__('subprocess').run(['python3', '-c', open('reach.py').read()], capture_output=True).stdout"
            )
            files = [*SITE, SiteFile("reach.py", "100644", UNIX.encode())]
            name = uuid.uuid4().hex
            host.start(SandboxSpec(name, "o", python(reach, install="pass"), 60), files)
            wait_for(host, name, Phase.READY)
            assert fetch(host, name)[1] == b"refused\n"
            host.stop(name)


CONNECT = """
import os, socket, urllib.parse
probe_results = []
proxy = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])
for port in {ports}:
    with socket.create_connection((proxy.hostname, proxy.port)) as egress_server:
        egress_server.sendall(b'CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % port)
        probe_results.append(egress_server.recv(100).split()[1].decode())
open('{target}', 'w').write(' '.join(probe_results))
"""
UNIX = """
import socket
try:
    with socket.socket(socket.AF_UNIX) as egress_server:
        egress_server.connect('/run/egress.sock')
        egress_server.sendall(b'CONNECT 127.0.0.1:1 HTTP/1.1\\r\\n\\r\\n')
        print('open' if egress_server.recv(1) else 'refused')
except OSError:
    print('refused')
"""


DEEP = """
import os
folder = os.open('.', os.O_RDONLY)
for _ in range(3000):
    os.mkdir('d', dir_fd=folder)
    child = os.open('d', os.O_RDONLY, dir_fd=folder)
    os.close(folder)
    folder = child
"""
WRITE_DELETED = """
import os
streams = []
for number in range(40):
    stream = open(f'f{number}', 'wb', buffering=0)
    os.unlink(f'f{number}')
    streams.append(stream)
    try:
        stream.write(b'x' * (1 << 20))
    except OSError:
        break
"""
WRITE_FILES = """
for number in range(100_000):
    try:
        open(f'n{number}', 'w').close()
    except OSError:
        break
"""


@pytest.mark.parametrize("images", [True, False], ids=["image", "counted"])
class TestLimits:
    @pytest.fixture
    def small(self, root: Path, images: bool) -> Iterator[LocalSandboxes]:
        if images and not supports_images(root.parent):
            pytest.skip("this machine does not permit mounting disk images")
        host = LocalSandboxes(root, limits=SandboxLimits(disk_bytes=16 * 1024 * 1024, files=1000), images=images)
        yield host
        for name in host.list_sandboxes():
            host.stop(name)

    @pytest.fixture(autouse=True)
    def _folder(self, root: Path) -> None:
        root.parent.mkdir(parents=True, exist_ok=True)

    def failed(self, host: LocalSandboxes, program: str) -> SandboxStatus:
        name = uuid.uuid4().hex
        host.start(SandboxSpec(name, "o", python(program + "\nimport time; time.sleep(60)"), 60), SITE)
        return wait_for(host, name, Phase.FAILED, within_s=10)

    def test_deleted_open_files_count_against_the_disk_limit(self, small: LocalSandboxes) -> None:
        status = self.failed(small, WRITE_DELETED)
        assert (status.cause, status.problem) == ("disk", "The site used more disk than a sandbox has")

    def test_number_of_files_is_limited(self, small: LocalSandboxes) -> None:
        status = self.failed(small, WRITE_FILES)
        assert (status.cause, status.problem) == ("files", "The site created more files than a sandbox permits")

    def test_deep_folders_are_removed(self, root: Path, images: bool) -> None:
        host = LocalSandboxes(root, images=images and supports_images(root.parent))
        name = uuid.uuid4().hex
        host.start(SandboxSpec(name, "o", python(DEEP + serving("b''")), 60), SITE)
        with suppress(AssertionError):  # The resource count ends a sandbox with more levels.
            wait_for(host, name, Phase.READY, Phase.FAILED)
        host.stop(name)
        assert host.list_sandboxes() == {}

    def test_stop_leaves_no_loop_device(self, root: Path, small: LocalSandboxes) -> None:
        name = uuid.uuid4().hex
        small.start(SandboxSpec(name, "o", static(), 60), SITE)
        wait_for(small, name, Phase.READY)
        small.stop(name)
        assert str(root) not in Path("/proc/self/mountinfo").read_text()
        backing = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
        assert [path for path in backing if str(root) in path] == []


def test_site_may_reserve_more_memory_than_it_uses(host: LocalSandboxes) -> None:
    name = uuid.uuid4().hex
    reserve = "import mmap; reserved = mmap.mmap(-1, 2 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
    host.start(SandboxSpec(name, "o", python(reserve + serving("os.environ['NODE_OPTIONS'].encode()")), 60), SITE)
    wait_for(host, name, Phase.READY)
    assert fetch(host, name) == (200, b"--max-old-space-size=1228")
    host.stop(name)


def test_start_link_at_mount_point_of_dependencies_is_refused(host: LocalSandboxes, tmp_path: Path) -> None:
    files = [*SITE, SiteFile("node_modules", "120000", b"/oldroot" + str(tmp_path).encode())]
    recipe = Recipe(("x",), install=(("python3", "-c", FILL),), dependencies="lock")
    with pytest.raises(UpstreamRejected, match="node_modules"):
        host.start(SandboxSpec("linked", "o", recipe, 60), files)
    assert host.list_sandboxes() == {}


class TestFailure:
    def failed(self, host: LocalSandboxes, recipe: Recipe, *, network: bool = False) -> SandboxStatus:
        name = uuid.uuid4().hex
        host.start(SandboxSpec(name, "o", recipe, 60, network=network), SITE)
        try:
            return wait_for(host, name, Phase.FAILED)
        finally:
            host.stop(name)

    def test_missing_program_is_the_cause(self, host: LocalSandboxes) -> None:
        status = self.failed(host, Recipe(("no-such-program",)))
        assert (status.cause, status.step) == ("missing_program", Phase.WAITING)
        assert "no-such-program: No such file" in status.log

    def test_refused_host_of_the_installation_is_named(self, host: LocalSandboxes) -> None:
        recipe = python(serving("b''"), install=REFUSED_REQUEST)
        status = self.failed(host, recipe)
        assert (status.step, status.refused_hosts) == (Phase.INSTALLING, ("git.example.org",))
        assert "refused the connection to git.example.org:443" in status.log

    def test_permitted_host_without_a_connection_is_unreachable(self, root: Path) -> None:
        program = REFUSED_REQUEST.replace("https://git.example.org", "http://127.0.0.1:1")
        host = LocalSandboxes(root, egress=["127.0.0.1:1"])
        status = self.failed(host, python(serving("b''"), install=program))
        assert (status.refused_hosts, status.unreachable_hosts) == ((), ("127.0.0.1:1",))
        assert "cannot connect to 127.0.0.1:1 from this machine" in status.log

    def test_refused_host_of_the_server_is_named(self, host: LocalSandboxes) -> None:
        status = self.failed(host, python(REFUSED_REQUEST))
        assert (status.step, status.refused_hosts) == (Phase.WAITING, ("git.example.org",))
        assert "network access while serving is off" in status.log

    def test_hugo_requests_use_the_proxy(self, host: LocalSandboxes) -> None:
        layout = b'{{ with try (resources.GetRemote "https://api.example.org/x") }}{{ with .Err }}{{ errorf "%s" . }}{{ end }}{{ end }}'
        files = {"hugo.toml": b'baseURL = "/"', "layouts/index.html": layout}
        recipe = choose_recipe(files, files.get, PreviewAddress("http://preview.localhost", 80))
        name = uuid.uuid4().hex
        site = [SiteFile(path, "100644", content) for path, content in files.items()]
        host.start(SandboxSpec(name, "o", recipe, 60), site)
        status = wait_for(host, name, Phase.FAILED)
        host.stop(name)
        assert status.refused_hosts == ("api.example.org",)

    def test_private_address_is_refused_with_network_access(self, host: LocalSandboxes) -> None:
        program = REFUSED_REQUEST.replace("https://git.example.org", "http://127.0.0.1:80")
        assert self.failed(host, python(program), network=True).refused_hosts == ("127.0.0.1:80",)

    def test_unopened_port_names_the_port_that_is_open(self, root: Path) -> None:
        host = LocalSandboxes(root, serve_timeout_s=1)
        program = serving("b''").replace('int(os.environ["PORT"])', "8765")
        status = self.failed(host, python(program))
        assert status.cause == "port"
        assert "It listens on port 8765" in (status.problem or "")

    def test_unresponsive_page_has_the_cause_response(self, root: Path) -> None:
        program = "import os, socket, time; s = socket.create_server(('127.0.0.1', int(os.environ['PORT'])));"
        status = self.failed(LocalSandboxes(root, serve_timeout_s=1), python(program + "time.sleep(60)"))
        assert status.cause == "response"

    def test_other_port_with_pages_is_used(self, host: LocalSandboxes) -> None:
        """A server of reload scripts listens on a lower port. It has no pages."""
        name = uuid.uuid4().hex
        host.start(SandboxSpec(name, "o", python(TWO_SERVERS), 60), SITE)
        wait_for(host, name, Phase.READY)
        assert fetch(host, name) == (200, b"text/html")
        upstream = host.connect(name)
        upstream.connection.close()
        assert (upstream.host, upstream.origin) == ("localhost:8080", "http://localhost:8080")
        host.stop(name)

    def test_port_of_the_recipe_is_used(self, host: LocalSandboxes) -> None:
        name = uuid.uuid4().hex
        program = serving("os.environ['PORT'].encode()").replace('int(os.environ["PORT"])', "8765")
        host.start(SandboxSpec(name, "o", Recipe(("python3", "-c", program), port=8765), 60), SITE)
        wait_for(host, name, Phase.READY)
        assert fetch(host, name) == (200, b"8765")
        host.stop(name)


TWO_SERVERS = """
import http.server, threading
def serve(port, kind):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", kind); self.send_header("Content-Length", str(len(kind)))
            self.end_headers()
            self.wfile.write(kind.encode())
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
threading.Thread(target=serve, args=(3500, "text/javascript"), daemon=True).start()
serve(8080, "text/html")
"""
REFUSED_REQUEST = """
import os, urllib.request
handler = urllib.request.ProxyHandler({"https": os.environ["HTTPS_PROXY"], "http": os.environ["HTTP_PROXY"]})
os.environ["no_proxy"] = ""
urllib.request.build_opener(handler).open("https://git.example.org/repository.git")
"""
