"""What `make faults` says at its end."""

import pytest

HERE = "tests/faults/"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the faults that were played, and those after which something did not hold."""

    def counted(outcome: str) -> int:
        reports = terminalreporter.stats.get(outcome, [])
        return sum(getattr(report, "nodeid", "").startswith(HERE) for report in reports)

    survived, broken = counted("passed"), counted("failed") + counted("error")
    if survived or broken:
        terminalreporter.write_line(f"faults run {survived + broken}, survived {survived}, invariants broken {broken}")
