"""A disk of a few megabytes (a mounted tmpfs) that tests can fill."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PIECE_BYTES = 65_536


class SmallDisk:
    """A disk mounted on `folder`. Without the permission to mount, the test is skipped."""

    def __init__(self, folder: Path, *, size_mib: int = 48, files: int = 6_000) -> None:
        self.folder, self._options = folder, f"size={size_mib}m,nr_inodes={files},mode=0700"

    def __enter__(self) -> "SmallDisk":
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", self._options, "galley-small-disk", str(self.folder)]
        if os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("only root may mount a small disk")
        if subprocess.run(command, capture_output=True).returncode != 0:
            pytest.skip("nothing may be mounted here")
        return self

    def __exit__(self, *error: object) -> None:
        if subprocess.run(["umount", str(self.folder)], capture_output=True).returncode != 0:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)

    @contextmanager
    def full(self, *, left_bytes: int = 0) -> Iterator[None]:
        """Fill the disk except for `left_bytes`, rounded up to pages."""
        ballast = self.folder / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(b"\0" * PIECE_BYTES) > 0:
                    pass
            with contextlib.suppress(OSError):
                os.truncate(ballast, max(0, ballast.stat().st_size - left_bytes))
            yield
        finally:
            ballast.unlink(missing_ok=True)

    @contextmanager
    def without_names(self) -> Iterator[None]:
        """Use up the inodes, so that no file can be created although blocks are free."""
        ballast = self.folder / "ballasts"
        ballast.mkdir()
        try:
            with contextlib.suppress(OSError):
                for number in range(10**6):
                    (ballast / str(number)).touch()
            yield
        finally:
            shutil.rmtree(ballast)
