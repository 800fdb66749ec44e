"""Credentials that a Git host refuses: renewed once, tried once more, and then asked for anew.

Played on the running service against both hosts; run by `make faults`.
"""

from collections.abc import Iterator

import pytest

from tests.doubles.server import Fault, Reply
from tests.faults.git_answers import ALL, EVER, HOSTS
from tests.faults.hosted_plant import HostedLife, HostedPlant
from tests.faults.playing import FINE

RENEWAL = {"github": "POST /login/oauth/access_token", "gitlab": "POST /oauth/token"}


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostedPlant]:
    with HostedPlant(tmp_path_factory.mktemp("hosted")) as made:
        assert isinstance(made, HostedPlant)
        yield made
        assert made.hosts.github.violations == []


@pytest.mark.parametrize("host", HOSTS)
class TestCredential:
    def test_token_refused_once_is_renewed_once(self, plant: HostedPlant, host: str) -> None:
        life = HostedLife(plant, host=host)
        life.rest()
        for token in life.tokens():
            life.double.grants.pop(token)  # type: ignore[attr-defined]
        told = life.save()
        assert told.status == 201
        assert len(life.double.calls(RENEWAL[host])) == 1
        assert [call.status for call in life.double.calls(ALL)].count(401) == 1
        life.recover()
        assert life.check() == []

    def test_token_refused_always_needs_a_new_connection(self, plant: HostedPlant, host: str) -> None:
        life = HostedLife(plant, host=host)
        life.rest()
        with life.met(Fault(r"/api/(?!app/)", times=EVER, reply=Reply(401, {"message": "Bad credentials"}))):
            told = life.save()
            assert (told.status, told.code) == (409, "NEEDS_RECONNECT")
            assert len(life.double.calls(RENEWAL[host])) == 1
            asked = len(life.double.journal)
            assert life.save().code == "NEEDS_RECONNECT"
            assert len(life.double.journal) == asked
            assert life.endure()[0].code == "NEEDS_RECONNECT"
        found = life.ask(life.owner, "GET", f"/project/{life.project}")
        assert found.result["connection"]["status"] == "needs_reconnect"
        life.connect()
        assert life.ask(life.owner, "PATCH", f"/project/git/{life.project}", json={}).status == FINE
        life.recover()
        assert life.check() == []
