"""Test of 50 random kills during 5000 acknowledged writes of every kind. None may be lost or occur twice.

It takes some minutes per store. `GALLEY_KILLS` and `GALLEY_WRITES` set other numbers.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.kills import run_kills
from tests.support.databases import postgresql_database
from tests.support.servers.service import Service

KILLS, WRITES = int(os.environ.get("GALLEY_KILLS", "50")), int(os.environ.get("GALLEY_WRITES", "5000"))
SEED = int(os.environ.get("GALLEY_SEED", "7"))


@pytest.fixture(params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    environment = {"LIMIT_ORGANIZATIONS": "1000000", "LIMIT_MEMBERS": "1000000", "MAIL_DIR": str(tmp_path / "mail")}
    if request.param == "sqlite":
        with Service(tmp_path, **environment) as created:
            yield created
        return
    with postgresql_database() as url, Service(tmp_path, DATABASE_URL=url, **environment) as created:
        yield created


class TestRandomKills:
    def test_random_kills_keep_each_acknowledged_write_once(
        self, service: Service, capsys: pytest.CaptureFixture[str]
    ) -> None:
        record, wrong = run_kills(service, kills=KILLS, writes=WRITES, seed=SEED)
        with capsys.disabled():
            kinds = {kind: len(record.acknowledged(kind)) for kind in record.asked}
            print(f"\n{KILLS} kills, {record.total} writes acknowledged {kinds}; lost or doubled: {len(wrong)}")
        assert wrong == []
