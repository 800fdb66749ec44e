"""Tests of the supervisor of an installation: start, failure and end of its processes."""

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def serving(*commands: str) -> subprocess.Popen[str]:
    """Start the supervisor with these commands in a separate process."""
    script = f"import sys; sys.path.insert(0, 'deploy'); import run; sys.exit(run.serve({list(commands)!r}))"
    return subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def python(code: str) -> str:
    return f"{sys.executable} -u -c {code!r}"


WAITS = python("import os, time; os.write(1, b'1\\n'); time.sleep(60)")
DRAINS = python(
    "import os, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1), print(2), sys.exit())); "
    "os.write(1, b'1\\n'); time.sleep(60)"
)


class TestServe:
    def test_failure_of_a_process_stops_the_others_and_returns_its_status(self) -> None:
        supervisor = serving(WAITS, python("import sys; sys.exit(3)"))
        supervisor.communicate(timeout=30)
        assert supervisor.returncode == 3

    def test_normal_end_of_a_process_is_a_failure(self) -> None:
        supervisor = serving(WAITS, python("pass"))
        supervisor.communicate(timeout=30)
        assert supervisor.returncode == 1

    def test_sigterm_stops_all_processes_after_their_drain(self) -> None:
        supervisor = serving(DRAINS, WAITS)
        assert supervisor.stdout is not None
        assert [supervisor.stdout.readline(), supervisor.stdout.readline()] == ["1\n", "1\n"]

        supervisor.send_signal(signal.SIGTERM)
        printed, _ = supervisor.communicate(timeout=30)

        assert printed == "2\n"
        assert supervisor.returncode == 0
