"""The way to a Git host refused, reset, silent, slow and cut: saves are told so, and the index is a commit's or the old one.

Every row is played on the running service against both hosts. Takes some minutes; run by `make faults`.
"""

from collections.abc import Iterator

import pytest

from tests.doubles.fault_proxy import Mode
from tests.doubles.server import Fault
from tests.faults.git_answers import HOSTS, MOVE
from tests.faults.hosted_plant import HostedLife, HostedPlant
from tests.faults.playing import counted, failing

ROWS: tuple[tuple[Mode, dict[str, float], set[int]], ...] = (
    (Mode.REFUSE, {}, {503}),
    (Mode.RESET, {}, {503}),
    (Mode.STALL, {}, {504}),
    (Mode.SLOW, {"delay_s": 0.3}, {201}),
    (Mode.CUT, {"cut_after": 600}, {201, 502, 503}),
)


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostedPlant]:
    with HostedPlant(tmp_path_factory.mktemp("hosted")) as made:
        assert isinstance(made, HostedPlant)
        yield made
        assert made.hosts.github.violations == []


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("mode", "how", "answers"), ROWS, ids=[mode for mode, _, _ in ROWS])
def test_way_to_the_host_fails(
    plant: HostedPlant,
    host: str,
    mode: Mode,
    how: dict[str, float],
    answers: set[int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    life = HostedLife(plant, host=host, patience_s=150)
    with failing(life.proxy, mode, **how):
        told = life.endure()
    life.recover()
    assert life.check() == []
    assert [one for one in told if one.status not in answers] == []
    with capsys.disabled():
        print(f"\n{host} {mode}: {counted(told)} after {told[0].took_s:.1f} s, {life.indexes} looks", end="")


@pytest.mark.parametrize("host", HOSTS)
def test_way_silent_since_the_branch_moved(plant: HostedPlant, host: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The save is not acknowledged, and there all the same; the index and the log learn of it."""
    life = HostedLife(plant, host=host, patience_s=150)
    with life.met(Fault(MOVE[host], first=lambda: life.proxy.fail(Mode.BLACKHOLE))):
        told = life.endure()
    life.proxy.recover()
    life.recover()
    assert life.check() == []
    assert [(one.status, one.code) for one in told] == [(504, "UPSTREAM_LATE")]
    with capsys.disabled():
        print(f"\n{host}, silent since the branch moved: told after {told[0].took_s:.1f} s", end="")
