"""Tests of the exit without finalization."""

import subprocess
import sys

from tests.serving.processes import ROOT

SCRIPT = """
import atexit, sys
from app.concurrency.process_exit import exit_process

class Held:
    def __del__(self):
        print("finalized")

held = Held()
atexit.register(print, "handler")
sys.stdout.write("output ")
exit_process(3)
"""


class TestExitProcess:
    def test_exit_process_runs_the_handlers_and_skips_the_finalization(self) -> None:
        ended = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=30)
        assert (ended.returncode, ended.stdout, ended.stderr) == (3, "output handler\n", "")
