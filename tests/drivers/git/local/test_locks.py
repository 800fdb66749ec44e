"""Tests of exclusive locks of branches."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from structlog.testing import capture_logs

from app.drivers.git.local.locks import exclusive, exclusive_lock


class TestExclusiveLock:
    def test_lock_is_exclusive(self, tmp_path: Path) -> None:
        inside, most = [0], [0]

        def work() -> None:
            with exclusive_lock(tmp_path, "team/site", "main"):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.01)
                inside[0] -= 1

        threads = [threading.Thread(target=work) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert most == [1]

    def test_branches_do_not_wait_for_each_other(self, tmp_path: Path) -> None:
        with (
            capture_logs() as logs,
            exclusive_lock(tmp_path, "team/site", "main"),
            exclusive_lock(tmp_path, "team/site", "work"),
        ):
            pass
        # A lock that is not free in time is reported.
        assert logs == []

    def test_lock_of_a_folder_ends_with_its_block(self, tmp_path: Path) -> None:
        for _ in range(2):
            with exclusive(tmp_path) as mine:
                assert mine

    def test_lock_is_released_when_its_process_ends(self, tmp_path: Path) -> None:
        held = tmp_path / "held"
        held.touch()
        script = (
            "import fcntl, os, sys, time; f = os.open(sys.argv[1], os.O_RDONLY); fcntl.flock(f, fcntl.LOCK_EX);"
            "print('held', flush=True); time.sleep(60)"
        )
        with subprocess.Popen([sys.executable, "-c", script, str(held)], stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            with exclusive(held) as mine:
                assert not mine
            os.kill(other.pid, signal.SIGKILL)
            other.wait()
        with exclusive(held, wait_s=1) as mine:
            assert mine
