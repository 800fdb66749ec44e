"""Tests of faulty responses of Git hosts. No commit occurs twice, no index is partial, and every error is mapped.

Each test uses the running service and both hosts. They take some minutes. Run them with `make faults`.
"""

import re

import pytest

from tests.faults.git_responses import HOSTS, ROWS, Row
from tests.faults.hosted_deployment import HostedDeployment, HostedWorkload
from tests.faults.steps import count_statuses


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row.name))
def test_faulty_response_of_the_host_returns_its_mapped_error(
    deployment: HostedDeployment, host: str, row: Row, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = HostedWorkload(deployment, host=host, timeout_s=150)
    with workload.with_faults(*row.faults(workload)):
        replies = workload.run_during_fault()
    workload.recover()
    assert workload.check() == []
    assert [(one.status, one.code) for one in replies] == [row.expected_at(host)], replies[0].result
    assert replies[0].code != "UPSTREAM_THROTTLED" or 30 <= (replies[0].retry_after_s or 0) <= 32
    with capsys.disabled():
        print(f"\n{host}, {row.name}: {count_statuses(replies)} after {replies[0].took_s:.1f} s", end="")
