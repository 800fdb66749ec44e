"""An adjustable wall clock for processes of the tests. The clock of the machine stays unchanged."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("clock_ahead.c")
NANOSECONDS = 10**9


class FakeClock:
    """A clock for processes with `environment`, which detect a jump at once. Needs a C compiler and Linux."""

    def __init__(self, home: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler to make a clock with")
        library, self._file = home / "clock_ahead.so", home / "clock_ahead"
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE], check=True, capture_output=True)
        self._file.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(self._file)}

    def jump(self, ahead_s: int) -> None:
        """Set the offset of the clock from the clock of the machine. A negative offset is in the past."""
        with self._file.open("r+b", buffering=0) as file:
            file.write(struct.pack("q", ahead_s * NANOSECONDS))
