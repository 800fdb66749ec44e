"""Tests of the client of REST hosts against a loopback server."""

from collections.abc import Iterator

import pytest

from app.drivers.errors import UpstreamTimeout
from app.drivers.git.rest.client import RestClient, SharedState
from app.drivers.git.rest.tokens import FixedToken
from tests.support.doubles.server import Call, Double, Reply, route


class EndlessList(Double):
    """A host with an endless paginated list."""

    @route("GET", "/items")
    def items(self, call: Call) -> Reply:
        number = int(call.one("page", "1"))
        return Reply(200, [number], {"Link": f'<{self.url}/items?page={number + 1}>; rel="next"'})


@pytest.fixture
def host() -> Iterator[EndlessList]:
    double = EndlessList()
    yield double
    double.close()


def client(host: Double, *, deadline_s: float) -> RestClient:
    return RestClient(host.url, FixedToken("token"), headers={}, shared=SharedState(), deadline_s=deadline_s)


class TestPages:
    def test_list_that_exceeds_the_deadline_raises_timeout(self, host: EndlessList) -> None:
        pages = client(host, deadline_s=0.5).pages("/items", {})
        numbers = []
        with pytest.raises(UpstreamTimeout):
            numbers.extend(number for [number] in pages)
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) < 10_000
