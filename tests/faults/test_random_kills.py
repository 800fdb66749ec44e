"""Fifty kills at random during five thousand acknowledged writes of every kind: none lost, none doubled.

Takes some minutes a store; `GALLEY_KILLS` and `GALLEY_WRITES` ask for less.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import postgresql_database
from tests.faults.kills import play
from tests.servers.service import Service

KILLS, WRITES = int(os.environ.get("GALLEY_KILLS", "50")), int(os.environ.get("GALLEY_WRITES", "5000"))
SEED = int(os.environ.get("GALLEY_SEED", "7"))


@pytest.fixture(params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    environment = {"LIMIT_ORGANIZATIONS": "1000000", "LIMIT_MEMBERS": "1000000", "MAIL_DIR": str(tmp_path / "mail")}
    if request.param == "sqlite":
        with Service(tmp_path, **environment) as made:
            yield made
        return
    with postgresql_database() as url, Service(tmp_path, DATABASE_URL=url, **environment) as made:
        yield made


class TestRandomKills:
    def test_nothing_is_lost_and_nothing_is_doubled(self, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
        account, wrong = play(service, kills=KILLS, writes=WRITES, seed=SEED)
        with capsys.disabled():
            kinds = {kind: len(account.acknowledged(kind)) for kind in account.asked}
            print(f"\n{KILLS} kills, {account.total} writes acknowledged {kinds}; lost or doubled: {len(wrong)}")
        assert wrong == []
