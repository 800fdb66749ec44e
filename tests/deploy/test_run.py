"""How the processes of an installation run and end together."""

import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def serving(*commands: str) -> subprocess.Popen[str]:
    """The supervisor over these commands, in a process of its own."""
    script = f"import sys; sys.path.insert(0, 'deploy'); import run; sys.exit(run.serve({list(commands)!r}))"
    return subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def python(code: str) -> str:
    return f"{sys.executable} -u -c {code!r}"


WAITS = python("import time; print(1); time.sleep(60)")
DRAINS = python(
    "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1), print(2), sys.exit())); "
    "print(1); time.sleep(60)"
)


class TestServe:
    def test_when_one_process_fails_the_others_are_ended_and_its_status_is_ours(self) -> None:
        supervisor = serving(WAITS, python("import sys; sys.exit(3)"))
        supervisor.communicate(timeout=30)
        assert supervisor.returncode == 3

    def test_a_process_that_ends_without_a_fault_is_a_failure_too(self) -> None:
        supervisor = serving(WAITS, python("pass"))
        supervisor.communicate(timeout=30)
        assert supervisor.returncode == 1

    def test_sigterm_ends_all_and_waits_for_those_that_drain(self) -> None:
        supervisor = serving(DRAINS, WAITS)
        assert supervisor.stdout is not None
        assert [supervisor.stdout.readline(), supervisor.stdout.readline()] == ["1\n", "1\n"]

        start = time.monotonic()
        supervisor.send_signal(signal.SIGTERM)
        printed, _ = supervisor.communicate(timeout=30)

        assert printed == "2\n"
        assert supervisor.returncode == 0
        assert time.monotonic() - start < 10
