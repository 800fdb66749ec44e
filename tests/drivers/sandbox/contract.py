"""Contract of sandbox hosts. The test class of each implementation inherits it."""

import time
import uuid
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest

from app.drivers.errors import UpstreamRejected
from app.drivers.sandbox.port import (
    EXECUTABLE,
    SYMLINK,
    OutputLimits,
    Phase,
    SandboxEnded,
    SandboxHost,
    SandboxSpec,
    SandboxStatus,
    SiteFile,
)
from app.runtimes.choose import static
from app.runtimes.recipe import HOST, PORT, Recipe

SITE = [
    SiteFile("index.html", "100644", b"<h1>Front</h1>"),
    SiteFile("deep/page/index.html", "100644", b"<h1>Deep</h1>"),
    SiteFile("unicode/caf\u00e9.html", "100644", b"caf\xc3\xa9"),
    SiteFile("linked.html", SYMLINK, b"index.html"),
]

LIMITS = OutputLimits(files=100, size_bytes=10_000)
WRITER = """
import os
os.makedirs("out/caf\\u00e9")
files = {"index.html": "built", "caf\\u00e9/a.txt": "a", "mode": os.environ["NODE_ENV"]}
for name, text in files.items():
    with open("out/" + name, "w") as file:
        file.write(text)
os.symlink("/etc/passwd", "out/passwd")
os.symlink("..", "out/above")
os.mkfifo("out/pipe")
os.link("out/index.html", "out/same.html")
open("out/unreadable", "w").close()
os.chmod("out/unreadable", 0)
"""


def python(program: str, *, install: str | None = None) -> Recipe:
    """Return a recipe that runs a Python program."""
    return Recipe(("python3", "-c", program), install=(("python3", "-c", install),) if install else ())


SERVER = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = {body}
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    do_HEAD = do_GET
http.server.ThreadingHTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()
"""


def serving(body: str) -> str:
    """Return a program that responds to every request with the value of an expression."""
    return SERVER.replace("{body}", body)


def wait_for(host: SandboxHost, reference: str, *phases: Phase, within_s: float = 120) -> SandboxStatus:
    deadline = time.monotonic() + within_s
    while True:
        view = host.status(reference)
        if view.phase in phases:
            return view
        assert time.monotonic() < deadline, view
        assert view.phase not in (Phase.FAILED, Phase.ENDED), view
        time.sleep(0.02)


def fetch(host: SandboxHost, reference: str, path: str = "/") -> tuple[int, bytes]:
    upstream = host.connect(reference)
    more = "".join(f"{name}: {value}\r\n" for name, value in upstream.headers.items())
    with upstream.connection as connection:
        connection.settimeout(30)
        request = f"GET {path} HTTP/1.1\r\nHost: {upstream.host}\r\n{more}Connection: close\r\n\r\n"
        connection.sendall(request.encode())
        response = HTTPResponse(connection)
        response.begin()
        result = response.status, response.read()
        response.close()
        return result


class SandboxContract:
    """The tests of a sandbox host. Subclasses define the fixture `host`."""

    @pytest.fixture(autouse=True)
    def _check_nothing_remains(self, host: SandboxHost) -> Iterator[None]:
        yield
        for name in host.list_sandboxes():
            host.stop(name)

    @staticmethod
    def start(host: SandboxHost, recipe: Recipe, files: list[SiteFile] | None = None, lifetime_s: float = 60) -> str:
        spec = SandboxSpec(uuid.uuid4().hex, "prj_owner", recipe, lifetime_s)
        return host.start(spec, SITE if files is None else files)

    def running(self, host: SandboxHost, recipe: Recipe | None = None, lifetime_s: float = 60) -> str:
        reference = self.start(host, recipe or static(), lifetime_s=lifetime_s)
        wait_for(host, reference, Phase.READY)
        return reference

    def test_site_becomes_ready_and_is_served(self, host: SandboxHost) -> None:
        reference = self.running(host)
        assert fetch(host, reference) == (200, b"<h1>Front</h1>")
        assert fetch(host, reference, "/deep/page/") == (200, b"<h1>Deep</h1>")
        assert fetch(host, reference, "/unicode/caf%C3%A9.html")[0] == 200
        assert fetch(host, reference, "/missing")[0] == 404

    def test_symbolic_link_of_the_site_is_served(self, host: SandboxHost) -> None:
        assert fetch(host, self.running(host), "/linked.html") == (200, b"<h1>Front</h1>")

    def test_executable_file_can_be_run(self, host: SandboxHost) -> None:
        files = [SiteFile("run", EXECUTABLE, b"#!/bin/sh\nexec python3 -m http.server $PORT --bind $HOST\n")]
        reference = self.start(host, Recipe(("./run",)), files)
        wait_for(host, reference, Phase.READY)

    def test_folder_of_the_recipe_is_served(self, host: SandboxHost) -> None:
        recipe = Recipe(static().serve, folder="deep/page")
        assert fetch(host, self.running(host, recipe)) == (200, b"<h1>Deep</h1>")

    def test_command_receives_port_and_host_as_arguments_and_environment(self, host: SandboxHost) -> None:
        program = serving("' '.join([*__import__('sys').argv[1:], os.environ['PORT'], os.environ['HOST']]).encode()")
        reference = self.running(host, Recipe(("python3", "-c", program, PORT, HOST)))
        port, address, same_port, same_address = fetch(host, reference)[1].decode().split()
        assert (port, address) == (same_port, same_address)
        assert port.isdigit()

    def test_installation_runs_before_the_server(self, host: SandboxHost) -> None:
        program = serving("open('made').read().encode()")
        reference = self.running(host, python(program, install="open('made', 'w').write('by install')"))
        assert fetch(host, reference) == (200, b"by install")

    def test_failed_installation_is_reported_with_its_log(self, host: SandboxHost) -> None:
        recipe = python(serving("b''"), install="print('what went wrong'); raise SystemExit(7)")
        reference = self.start(host, recipe)
        view = wait_for(host, reference, Phase.FAILED)
        assert view.problem == "The installation ended with status 7"
        assert (view.step, view.cause) == (Phase.INSTALLING, "ended")
        assert "what went wrong" in view.log
        assert "what went wrong" in host.read_log(reference)

    def test_log_shows_commands_and_omits_scripts_of_recipes(self, host: SandboxHost) -> None:
        script = "install() {\n  echo '$ npm ci'\n}\ninstall; exit 7"
        recipe = Recipe(("true",), install=(("echo", "first"), ("sh", "-c", script)))
        reference = self.start(host, recipe)
        wait_for(host, reference, Phase.FAILED)
        assert host.read_log(reference).split("\n")[:3] == ["$ echo first", "first", "$ npm ci"]

    def test_ended_server_is_reported_with_its_log(self, host: SandboxHost) -> None:
        view = wait_for(host, self.start(host, python("print('bye', flush=True); raise SystemExit(5)")), Phase.FAILED)
        assert view.problem == "The server ended with status 5"
        assert (view.step, view.cause) == (Phase.WAITING, "ended")
        assert "bye" in view.log

    def test_missing_command_is_reported(self, host: SandboxHost) -> None:
        view = wait_for(host, self.start(host, Recipe(("no-such-program",))), Phase.FAILED)
        assert "status 127" in (view.problem or "")
        assert view.cause == "missing_program"

    def test_start_waits_for_a_slow_server(self, host: SandboxHost) -> None:
        reference = self.start(host, python("import time; time.sleep(1)\n" + serving("b'late'")))
        wait_for(host, reference, Phase.WAITING)
        wait_for(host, reference, Phase.READY)

    def test_written_file_is_served(self, host: SandboxHost) -> None:
        reference = self.running(host)
        host.write(reference, "index.html", b"changed")
        host.write(reference, "new/folder/page.html", bytes(range(256)))
        assert fetch(host, reference) == (200, b"changed")
        assert fetch(host, reference, "/new/folder/page.html") == (200, bytes(range(256)))

    def test_file_of_a_million_bytes_can_be_written(self, host: SandboxHost) -> None:
        reference = self.running(host)
        host.write(reference, "big.bin", b"x" * 1_000_000)
        assert len(fetch(host, reference, "/big.bin")[1]) == 1_000_000

    def test_write_of_a_file_over_a_folder_is_refused(self, host: SandboxHost) -> None:
        with pytest.raises(UpstreamRejected):
            host.write(self.running(host), "deep", b"")

    def test_sandbox_ends_at_its_deadline(self, host: SandboxHost) -> None:
        reference = self.running(host, lifetime_s=3)
        time.sleep(3)
        wait_for_end(host, reference)

    def test_extend_moves_the_deadline(self, host: SandboxHost) -> None:
        reference = self.running(host, lifetime_s=3)
        host.extend(reference, 60)
        time.sleep(4)
        assert host.status(reference).phase is Phase.READY

    def test_stop_is_idempotent(self, host: SandboxHost) -> None:
        reference = self.running(host)
        assert reference in host.list_sandboxes()
        host.stop(reference)
        assert host.status(reference).phase is Phase.ENDED
        assert reference not in host.list_sandboxes()
        host.stop(reference)

    def test_calls_on_an_ended_sandbox_raise(self, host: SandboxHost) -> None:
        reference = self.running(host)
        host.stop(reference)
        with pytest.raises(SandboxEnded):
            host.write(reference, "a", b"")
        with pytest.raises(SandboxEnded):
            host.extend(reference, 10)
        with pytest.raises(SandboxEnded):
            host.connect(reference)

    def test_two_sandboxes_have_separate_files(self, host: SandboxHost) -> None:
        one, other = self.running(host), self.running(host)
        host.write(one, "index.html", b"one")
        assert fetch(host, one)[1] == b"one"
        assert fetch(host, other)[1] == b"<h1>Front</h1>"
        assert set(host.list_sandboxes()) == {one, other}

    def test_list_returns_references_with_names(self, host: SandboxHost) -> None:
        spec = SandboxSpec(uuid.uuid4().hex, "prj_owner", static(), 60)
        reference = host.start(spec, SITE)
        assert host.list_sandboxes() == {reference: spec.name}

    def test_second_driver_of_the_same_host_lists_the_sandbox(self, host: SandboxHost, again: SandboxHost) -> None:
        reference = self.running(host)
        assert again.status(reference).phase is Phase.READY
        assert fetch(again, reference)[0] == 200
        again.stop(reference)
        assert host.status(reference).phase is Phase.ENDED

    def test_concurrent_requests_are_answered(self, host: SandboxHost) -> None:
        reference = self.running(host)
        assert [fetch(host, reference)[0] for _ in range(50)] == [200] * 50

    def build(self, host: SandboxHost, program: str, *, output: str | None = "out") -> str:
        """Start the build of a Python program."""
        recipe = Recipe((), build=("python3", "-c", program), output=output)
        return host.start(SandboxSpec(uuid.uuid4().hex, "prj_owner", recipe, 60, builds=True), SITE)

    def test_output_of_a_build_contains_regular_files_only(self, host: SandboxHost) -> None:
        reference = self.build(host, WRITER)
        wait_for(host, reference, Phase.BUILT)
        files = {file.path: (file.size, file.stream.read()) for file in host.output(reference, LIMITS)}
        assert files == {
            "caf\u00e9/a.txt": (1, b"a"),
            "index.html": (5, b"built"),
            "mode": (10, b"production"),
            "same.html": (5, b"built"),
        }
        assert list(files) == sorted(files)

    def test_failed_build_is_reported_with_its_log(self, host: SandboxHost) -> None:
        reference = self.build(host, "print('what went wrong'); raise SystemExit(3)")
        view = wait_for(host, reference, Phase.FAILED)
        assert (view.problem, view.step, view.cause) == ("The build ended with status 3", Phase.BUILDING, "ended")
        assert "what went wrong" in view.log

    @pytest.mark.parametrize("output", ["out", "..", "out/../../..", "deep/../..", "index.html"])
    def test_build_without_output_folder_is_rejected(self, host: SandboxHost, output: str) -> None:
        reference = self.build(host, "import os; os.symlink('/etc', 'out')", output=output)
        wait_for(host, reference, Phase.BUILT)
        with pytest.raises(UpstreamRejected, match="output"):
            next(host.output(reference, LIMITS))

    @pytest.mark.parametrize("limits", [OutputLimits(2, 100), OutputLimits(100, 15)])
    def test_output_above_a_limit_is_rejected_before_it_is_read(self, host: SandboxHost, limits: OutputLimits) -> None:
        reference = self.build(host, WRITER)
        wait_for(host, reference, Phase.BUILT)
        with pytest.raises(UpstreamRejected) as caught:
            next(host.output(reference, limits))
        assert caught.value.code == "OUTPUT_TOO_LARGE"

    def test_output_requires_a_finished_build(self, host: SandboxHost) -> None:
        reference = self.build(host, "import time; time.sleep(60)")
        wait_for(host, reference, Phase.BUILDING)
        with pytest.raises(SandboxEnded):
            next(host.output(reference, LIMITS))

    def test_plain_files_need_no_build(self, host: SandboxHost) -> None:
        recipe = Recipe((), output="")
        reference = host.start(SandboxSpec(uuid.uuid4().hex, "prj_owner", recipe, 60, builds=True), SITE)
        wait_for(host, reference, Phase.BUILT)
        names = [file.path for file in host.output(reference, LIMITS)]
        assert names == sorted(file.path for file in SITE if file.mode != SYMLINK)


def wait_for_end(host: SandboxHost, reference: str, within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while host.status(reference).phase is not Phase.ENDED:
        assert time.monotonic() < deadline
        time.sleep(0.05)
