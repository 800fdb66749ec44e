"""Git hosts that refuse, throttle, break and lie: never two commits, never a partial index, and every answer mapped.

Every row is played on the running service against both hosts. Takes some minutes; run by `make faults`.
"""

import re
from collections.abc import Iterator

import pytest

from tests.faults.git_answers import HOSTS, ROWS, Row
from tests.faults.hosted_plant import HostedLife, HostedPlant
from tests.faults.playing import counted


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostedPlant]:
    with HostedPlant(tmp_path_factory.mktemp("hosted")) as made:
        assert isinstance(made, HostedPlant)
        yield made
        assert made.hosts.github.violations == []


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row.name))
def test_wrong_answer(plant: HostedPlant, host: str, row: Row, capsys: pytest.CaptureFixture[str]) -> None:
    life = HostedLife(plant, host=host, patience_s=150)
    with life.met(*row.faults(life)):
        told = life.endure()
    life.recover()
    assert life.check() == []
    assert [(one.status, one.code) for one in told] == [row.told_at(host)], told[0].result
    assert told[0].code != "UPSTREAM_THROTTLED" or 30 <= (told[0].retry_after_s or 0) <= 32
    with capsys.disabled():
        print(f"\n{host}, {row.name}: {counted(told)} after {told[0].took_s:.1f} s", end="")
