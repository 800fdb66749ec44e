"""Tests of the file count, which includes deleted files that a process uses."""

import mmap
import os
import subprocess
import sys
from pathlib import Path

from app.drivers.sandbox.local.supervisor.resource_usage import MAX_DEPTH, folder_usage

MIB = 1024 * 1024
OPEN_DELETED = "f = open('{path}', 'wb'); f.write(b'x' * {size}); f.flush(); __import__('os').unlink('{path}'); print(1, flush=True); input()"


def test_folder_usage_counts_entries_bytes_and_hard_links_once(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"x" * MIB)
    os.link(tmp_path / "folder" / "file", tmp_path / "same")
    (tmp_path / "link").symlink_to("/usr")
    usage = folder_usage([tmp_path], 2**30)
    assert usage.entries == 4
    assert MIB <= usage.size_bytes < 1.2 * MIB


def test_folder_usage_deleted_open_file_counts(tmp_path: Path) -> None:
    program = OPEN_DELETED.format(path=tmp_path / "gone", size=4 * MIB)
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert folder_usage([tmp_path], process.pid).size_bytes >= 4 * MIB
        process.communicate(b"\n")


def test_folder_usage_deleted_mapped_file_counts_after_its_descriptor_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "mapped"
    path.write_bytes(b"x" * 4 * MIB)
    with path.open("r+b") as stream:
        mapping = mmap.mmap(stream.fileno(), 0)
    path.unlink()
    # mmap holds a duplicate descriptor, so the file counts at least once.
    assert folder_usage([tmp_path], os.getpid()).size_bytes >= 4 * MIB
    mapping.close()


def test_folder_usage_deep_tree_is_reported(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(MAX_DEPTH + 2):
        folder /= "d"
    folder.mkdir(parents=True)
    assert folder_usage([tmp_path], 2**30).is_too_deep
