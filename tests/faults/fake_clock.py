"""A clock for processes of the tests alone, which may jump while they run: libfaketime before their own library.

The machine's clock is left as it is, and so is the one that never goes back.
"""

from pathlib import Path

import pytest

LIBRARIES = "/usr/lib/*/faketime/libfaketimeMT.so.1"


class FakeClock:
    """`environment` goes to the processes; they notice a jump at once."""

    def __init__(self, file: Path) -> None:
        found = sorted(Path("/").glob(LIBRARIES.removeprefix("/")))
        if not found:
            pytest.skip("libfaketime is not installed (Debian's package faketime)")
        self._file = file
        self.jump(0)
        self.environment = {
            "LD_PRELOAD": str(found[0]),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def jump(self, ahead_s: int) -> None:
        """From now on the clock is so far ahead of the machine's; behind it when negative."""
        written = self._file.with_suffix(".new")
        written.write_text(f"{ahead_s:+d}\n")
        written.replace(self._file)
