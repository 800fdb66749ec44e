"""What every sandbox host must do, whichever it is; each implementation's test class inherits this."""

import time
import uuid
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest

from app.core.runtimes.choose import static
from app.core.runtimes.recipe import HOST, PORT, Recipe
from app.drivers.errors import Rejected
from app.drivers.sandbox.port import EXECUTABLE, SYMLINK, Order, Phase, SandboxGone, SandboxHost, SiteFile, View

SITE = [
    SiteFile("index.html", "100644", b"<h1>Front</h1>"),
    SiteFile("deep/page/index.html", "100644", b"<h1>Deep</h1>"),
    SiteFile("unicode/caf\u00e9.html", "100644", b"caf\xc3\xa9"),
    SiteFile("linked.html", SYMLINK, b"index.html"),
]


def python(program: str, *, install: str | None = None) -> Recipe:
    """A recipe that runs Python code."""
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
    """A program that answers every request with the bytes of an expression."""
    return SERVER.replace("{body}", body)


def wait_for(host: SandboxHost, reference: str, *phases: Phase, within_s: float = 30) -> View:
    deadline = time.monotonic() + within_s
    while True:
        view = host.look(reference)
        if view.phase in phases:
            return view
        assert time.monotonic() < deadline, view
        assert view.phase not in (Phase.FAILED, Phase.GONE), view
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
        found = response.status, response.read()
        response.close()
        return found


class SandboxContract:
    """Subclasses give the fixture `host`."""

    @pytest.fixture(autouse=True)
    def _nothing_left(self, host: SandboxHost) -> Iterator[None]:
        yield
        for name in host.names():
            host.stop(name)

    @staticmethod
    def start(host: SandboxHost, recipe: Recipe, files: list[SiteFile] | None = None, lifetime_s: float = 60) -> str:
        order = Order(uuid.uuid4().hex, "prj_owner", recipe, lifetime_s)
        return host.start(order, SITE if files is None else files)

    def running(self, host: SandboxHost, recipe: Recipe | None = None, lifetime_s: float = 60) -> str:
        reference = self.start(host, recipe or static(), lifetime_s=lifetime_s)
        wait_for(host, reference, Phase.READY)
        return reference

    def test_a_site_becomes_ready_and_is_served(self, host: SandboxHost) -> None:
        reference = self.running(host)
        assert fetch(host, reference) == (200, b"<h1>Front</h1>")
        assert fetch(host, reference, "/deep/page/") == (200, b"<h1>Deep</h1>")
        assert fetch(host, reference, "/unicode/caf%C3%A9.html")[0] == 200
        assert fetch(host, reference, "/missing")[0] == 404

    def test_a_symbolic_link_of_the_site_leads_inside(self, host: SandboxHost) -> None:
        assert fetch(host, self.running(host), "/linked.html") == (200, b"<h1>Front</h1>")

    def test_an_executable_file_can_be_run(self, host: SandboxHost) -> None:
        files = [SiteFile("run", EXECUTABLE, b"#!/bin/sh\nexec python3 -m http.server $PORT --bind $HOST\n")]
        reference = self.start(host, Recipe(("./run",)), files)
        wait_for(host, reference, Phase.READY)

    def test_a_folder_of_the_site_is_served(self, host: SandboxHost) -> None:
        recipe = Recipe(static().serve, folder="deep/page")
        assert fetch(host, self.running(host, recipe)) == (200, b"<h1>Deep</h1>")

    def test_commands_find_the_port_in_their_arguments_and_environment(self, host: SandboxHost) -> None:
        program = serving("' '.join([*__import__('sys').argv[1:], os.environ['PORT'], os.environ['HOST']]).encode()")
        reference = self.running(host, Recipe(("python3", "-c", program, PORT, HOST)))
        port, address, same_port, same_address = fetch(host, reference)[1].decode().split()
        assert (port, address) == (same_port, same_address)
        assert port.isdigit()

    def test_the_installation_runs_first_and_what_it_made_is_there(self, host: SandboxHost) -> None:
        program = serving("open('made').read().encode()")
        reference = self.running(host, python(program, install="open('made', 'w').write('by install')"))
        assert fetch(host, reference) == (200, b"by install")

    def test_a_failing_installation_is_told_with_its_log(self, host: SandboxHost) -> None:
        recipe = python(serving("b''"), install="print('what went wrong'); raise SystemExit(7)")
        view = wait_for(host, self.start(host, recipe), Phase.FAILED)
        assert view.problem == "The installation ended with status 7"
        assert "what went wrong" in view.log

    def test_a_server_that_ends_is_told_with_its_log(self, host: SandboxHost) -> None:
        view = wait_for(host, self.start(host, python("print('bye', flush=True); raise SystemExit(5)")), Phase.FAILED)
        assert view.problem == "The server ended with status 5"
        assert "bye" in view.log

    def test_a_command_that_does_not_exist_is_told(self, host: SandboxHost) -> None:
        view = wait_for(host, self.start(host, Recipe(("no-such-program",))), Phase.FAILED)
        assert "status 127" in (view.problem or "")

    def test_a_server_that_listens_late_is_waited_for(self, host: SandboxHost) -> None:
        reference = self.start(host, python("import time; time.sleep(1)\n" + serving("b'late'")))
        wait_for(host, reference, Phase.WAITING)
        wait_for(host, reference, Phase.READY)

    def test_a_written_file_is_served_at_once(self, host: SandboxHost) -> None:
        reference = self.running(host)
        host.write(reference, "index.html", b"changed")
        host.write(reference, "new/folder/page.html", bytes(range(256)))
        assert fetch(host, reference) == (200, b"changed")
        assert fetch(host, reference, "/new/folder/page.html") == (200, bytes(range(256)))

    def test_a_file_of_a_million_bytes_can_be_written(self, host: SandboxHost) -> None:
        reference = self.running(host)
        host.write(reference, "big.bin", b"x" * 1_000_000)
        assert len(fetch(host, reference, "/big.bin")[1]) == 1_000_000

    def test_a_file_where_a_folder_stands_is_refused(self, host: SandboxHost) -> None:
        with pytest.raises(Rejected):
            host.write(self.running(host), "deep", b"")

    def test_it_ends_by_itself_when_its_time_is_over(self, host: SandboxHost) -> None:
        reference = self.running(host, lifetime_s=3)
        time.sleep(3)
        wait_for_gone(host, reference)

    def test_it_lives_longer_when_that_is_said(self, host: SandboxHost) -> None:
        reference = self.running(host, lifetime_s=3)
        host.extend(reference, 60)
        time.sleep(4)
        assert host.look(reference).phase is Phase.READY

    def test_a_stopped_one_is_gone_and_can_be_stopped_again(self, host: SandboxHost) -> None:
        reference = self.running(host)
        assert reference in host.names()
        host.stop(reference)
        assert host.look(reference).phase is Phase.GONE
        assert reference not in host.names()
        host.stop(reference)

    def test_nothing_can_be_done_with_a_gone_one(self, host: SandboxHost) -> None:
        reference = self.running(host)
        host.stop(reference)
        with pytest.raises(SandboxGone):
            host.write(reference, "a", b"")
        with pytest.raises(SandboxGone):
            host.extend(reference, 10)
        with pytest.raises(SandboxGone):
            host.connect(reference)

    def test_two_run_side_by_side_and_each_has_its_own_files(self, host: SandboxHost) -> None:
        one, other = self.running(host), self.running(host)
        host.write(one, "index.html", b"one")
        assert fetch(host, one)[1] == b"one"
        assert fetch(host, other)[1] == b"<h1>Front</h1>"
        assert set(host.names()) == {one, other}

    def test_what_it_holds_is_told_with_the_name_that_its_caller_gave(self, host: SandboxHost) -> None:
        order = Order(uuid.uuid4().hex, "prj_owner", static(), 60)
        reference = host.start(order, SITE)
        assert host.names() == {reference: order.name}

    def test_another_driver_of_the_same_place_knows_it_too(self, host: SandboxHost, again: SandboxHost) -> None:
        reference = self.running(host)
        assert again.look(reference).phase is Phase.READY
        assert fetch(again, reference)[0] == 200
        again.stop(reference)
        assert host.look(reference).phase is Phase.GONE

    def test_many_requests_at_once_are_answered(self, host: SandboxHost) -> None:
        reference = self.running(host)
        assert [fetch(host, reference)[0] for _ in range(50)] == [200] * 50


def wait_for_gone(host: SandboxHost, reference: str, within_s: float = 10) -> None:
    deadline = time.monotonic() + within_s
    while host.look(reference).phase is not Phase.GONE:
        assert time.monotonic() < deadline
        time.sleep(0.05)
