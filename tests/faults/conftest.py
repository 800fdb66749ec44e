"""What of the faults may not be played at the same time, and what `make faults` says at its end."""

import pytest

HERE = "tests/faults/"
ALONE = {"test_sandbox_": "sandboxes"}
"""By the beginning of their modules' names, those that look at the whole machine for what another may have left."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Most faults are waited out, so that several are played at once; who is in a group is played by one process."""
    for item in items:
        for beginning, group in ALONE.items():
            if item.path.name.startswith(beginning):
                item.add_marker(pytest.mark.xdist_group(group))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the faults that were played, and those after which something did not hold."""

    def counted(outcome: str) -> int:
        reports = terminalreporter.stats.get(outcome, [])
        return sum(getattr(report, "nodeid", "").startswith(HERE) for report in reports)

    survived, broken = counted("passed"), counted("failed") + counted("error")
    if survived or broken:
        terminalreporter.write_line(f"faults run {survived + broken}, survived {survived}, invariants broken {broken}")
