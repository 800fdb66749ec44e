"""The modules of the long runs, which `make test` does not run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONG_RUNS = ("tests/bench", "tests/faults", "tests/load", "tests/mutants.py")


class TestCollection:
    def test_long_runs_are_collected_without_errors(self) -> None:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *LONG_RUNS]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4_000:]
        for path in LONG_RUNS:
            assert path in done.stdout
