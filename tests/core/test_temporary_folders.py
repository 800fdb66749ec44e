"""Tests of the removal of temporary folders of killed processes."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from app.core import temporary_folders


def test_folders_of_ended_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended, zombie = subprocess.Popen(["true"]), subprocess.Popen(["true"])
    ended.wait()
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    removed = [f"galley-push-{pid}-a" for pid in (ended.pid, zombie.pid, os.getpid())]
    kept = [f"galley-push-{os.getppid()}-b", "galley-push-c"]
    for name in removed + kept:
        (tmp_path / name).mkdir()
    temporary_folders.remove_leftovers("push")
    assert sorted(folder.name for folder in tmp_path.iterdir()) == sorted(kept)
    zombie.wait()
