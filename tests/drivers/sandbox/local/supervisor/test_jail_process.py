"""Tests of the log of a jail."""

import os
import subprocess
import threading
from pathlib import Path

from app.drivers.sandbox.local.supervisor.jail_process import JailProcess
from app.drivers.sandbox.local.supervisor.log_ring import LogRing, tail


class TestCompleteLog:
    def test_written_output_is_in_the_log_without_the_reading_thread(self, tmp_path: Path) -> None:
        jail = JailProcess.__new__(JailProcess)
        jail._log, jail._copying = LogRing(tmp_path, 1_000_000), threading.Lock()
        jail.process = subprocess.Popen(["sh", "-c", "seq 9000; kill -STOP $$"], stdout=subprocess.PIPE)
        try:
            os.waitpid(jail.process.pid, os.WUNTRACED)
            jail.complete_log()
            jail.complete_log()
            assert tail(tmp_path, 1_000_000).split() == [str(n) for n in range(1, 9001)]
        finally:
            jail.process.kill()
            jail.process.communicate()
            jail._log._file.close()
