"""A wall clock for processes of the tests alone, which may jump while they run; the machine's own is left as it is."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("clock_ahead.c")
NANOSECONDS = 10**9


class FakeClock:
    """`environment` goes to the processes, which notice a jump at once. Needs a C compiler and Linux."""

    def __init__(self, home: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler to make a clock with")
        library, self._file = home / "clock_ahead.so", home / "clock_ahead"
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE], check=True, capture_output=True)
        self._file.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(self._file)}

    def jump(self, ahead_s: int) -> None:
        """From now on the clock is so far ahead of the machine's; behind it when negative."""
        with self._file.open("r+b", buffering=0) as file:
            file.write(struct.pack("q", ahead_s * NANOSECONDS))
