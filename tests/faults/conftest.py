"""Groups of fault tests that must not run concurrently, a deployment with Git hosts, and the summary of `make faults`."""

from collections.abc import Iterator

import pytest

from tests.faults.hosted_deployment import HostedDeployment

HERE = "tests/faults/"
ALONE = {"test_sandbox_": "sandboxes"}
"""Groups by prefix of the module name. These modules check the whole machine for remains of sandboxes."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostedDeployment]:
    """Return a deployment with both Git hosts. The requests to GitHub must conform to its API description."""
    with HostedDeployment(tmp_path_factory.mktemp("hosted")) as created:
        assert isinstance(created, HostedDeployment)
        yield created
        assert created.hosts.github.violations == []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Assign the tests of a group to one process. The other tests run concurrently."""
    for item in items:
        for beginning, group in ALONE.items():
            if item.path.name.startswith(beginning):
                item.add_marker(pytest.mark.xdist_group(group))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of faults and of violated invariants."""

    def counted(outcome: str) -> int:
        reports = terminalreporter.stats.get(outcome, [])
        return sum(getattr(report, "nodeid", "").startswith(HERE) for report in reports)

    survived, broken = counted("passed"), counted("failed") + counted("error")
    if survived or broken:
        terminalreporter.write_line(f"faults run {survived + broken}, survived {survived}, invariants broken {broken}")
