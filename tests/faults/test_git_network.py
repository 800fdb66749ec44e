"""Tests of network faults of a Git host. Saves report the fault, and the index equals a commit.

Each test uses the running service and both hosts. They take some minutes. Run them with `make faults`.
"""

import pytest

from tests.faults.git_responses import HOSTS, MOVE
from tests.faults.hosted_deployment import HostedDeployment, HostedWorkload
from tests.faults.steps import count_statuses, fault_of
from tests.support.doubles.fault_proxy import Mode
from tests.support.doubles.server import Fault

ROWS: tuple[tuple[Mode, dict[str, float], set[int]], ...] = (
    (Mode.REFUSE, {}, {503}),
    (Mode.RESET, {}, {503}),
    (Mode.STALL, {}, {504}),
    (Mode.SLOW, {"delay_s": 0.3}, {201}),
    (Mode.CUT, {"cut_after": 600}, {201, 502, 503}),
)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("mode", "how", "answers"), ROWS, ids=[mode for mode, _, _ in ROWS])
def test_network_fault_of_the_host_returns_documented_statuses(
    deployment: HostedDeployment,
    host: str,
    mode: Mode,
    how: dict[str, float],
    answers: set[int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    workload = HostedWorkload(deployment, host=host, timeout_s=150)
    with fault_of(workload.proxy, mode, **how):
        replies = workload.run_during_fault()
    workload.recover()
    assert workload.check() == []
    assert [one for one in replies if one.status not in answers] == []
    with capsys.disabled():
        print(
            f"\n{host} {mode}: {count_statuses(replies)} after {replies[0].took_s:.1f} s, {workload.indexes} looks",
            end="",
        )


@pytest.mark.parametrize("host", HOSTS)
def test_network_silence_after_the_branch_update_returns_504_and_keeps_the_commit(
    deployment: HostedDeployment, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The save is not acknowledged but took effect. The index and the log include it later."""
    workload = HostedWorkload(deployment, host=host, timeout_s=150)
    with workload.with_faults(Fault(MOVE[host], first=lambda: workload.proxy.fail(Mode.BLACKHOLE))):
        replies = workload.run_during_fault()
    workload.proxy.recover()
    workload.recover()
    assert workload.check() == []
    assert [(one.status, one.code) for one in replies] == [(504, "UPSTREAM_LATE")]
    with capsys.disabled():
        print(f"\n{host}, silent since the branch moved: replies after {replies[0].took_s:.1f} s", end="")
