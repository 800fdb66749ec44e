"""Tests of the file count, which includes deleted files that a process uses."""

import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from app.drivers.sandbox.local.supervisor.usage import MAX_DEPTH, DiskLimits, add_sizes, folder_usage

MIB = 1024 * 1024
WIDE = DiskLimits(size_bytes=1024 * MIB, entries=100_000)
NO_PROCESS = 2**30
OPEN_DELETED = "f = open('{path}', 'wb'); f.write(b'x' * {size}); f.flush(); __import__('os').unlink('{path}'); print(1, flush=True); input()"


def test_folder_usage_counts_entries_bytes_and_hard_links_once(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"x" * MIB)
    os.link(tmp_path / "folder" / "file", tmp_path / "same")
    (tmp_path / "link").symlink_to("/usr")
    usage = folder_usage(tmp_path, NO_PROCESS, WIDE)
    assert usage.entries == 4
    assert MIB <= usage.size_bytes < 1.2 * MIB


def test_folder_usage_deleted_open_file_counts(tmp_path: Path) -> None:
    program = OPEN_DELETED.format(path=tmp_path / "gone", size=4 * MIB)
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert folder_usage(tmp_path, process.pid, WIDE).size_bytes >= 4 * MIB
        process.communicate(b"\n")


def test_folder_usage_deleted_mapped_file_counts_after_its_descriptor_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "mapped"
    path.write_bytes(b"x" * 4 * MIB)
    with path.open("r+b") as stream:
        mapping = mmap.mmap(stream.fileno(), 0)
    path.unlink()
    # mmap holds a duplicate descriptor, so the file counts at least once.
    assert folder_usage(tmp_path, os.getpid(), WIDE).size_bytes >= 4 * MIB
    mapping.close()


def test_folder_usage_deep_tree_is_reported(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(MAX_DEPTH + 2):
        folder /= "d"
    folder.mkdir(parents=True)
    assert folder_usage(tmp_path, NO_PROCESS, WIDE).is_too_deep


def test_folder_usage_beyond_the_entry_limit_stops_at_the_next_entry(tmp_path: Path) -> None:
    for number in range(200):
        folder = tmp_path / str(number % 4)
        folder.mkdir(exist_ok=True)
        (folder / str(number)).touch()
    usage = folder_usage(tmp_path, NO_PROCESS, DiskLimits(size_bytes=MIB, entries=20))
    assert (usage.entries, usage.size_bytes) == (21, 0)


def test_add_sizes_of_a_folder_that_grows_beyond_the_entry_limit_stops(tmp_path: Path) -> None:
    def statuses() -> Iterator[os.stat_result]:
        yield tmp_path.stat()
        for number in range(30):
            (tmp_path / str(number)).touch()
        yield tmp_path.stat()
        raise AssertionError("the names were not counted again")

    usage = add_sizes(statuses(), tmp_path, DiskLimits(size_bytes=MIB, entries=20), names_interval_s=0)
    assert usage.entries == 21


def test_folder_usage_beyond_the_size_limit_stops_at_the_next_file(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).write_bytes(b"x" * MIB)
    usage = folder_usage(tmp_path, NO_PROCESS, DiskLimits(size_bytes=2 * MIB, entries=20))
    assert 2 * MIB < usage.size_bytes < 3.2 * MIB
    assert usage.entries == 3


def test_folder_usage_at_its_limits_is_complete(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / str(number)).touch()
    assert folder_usage(tmp_path, NO_PROCESS, DiskLimits(size_bytes=0, entries=3)).entries == 3


def test_folder_usage_closed_folder_counts(tmp_path: Path) -> None:
    folder = tmp_path / "outer" / "inner"
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(b"x" * MIB)
    for closed in (folder, folder.parent):
        closed.chmod(0)
    usage = folder_usage(tmp_path, NO_PROCESS, WIDE)
    assert (usage.entries, usage.size_bytes >= MIB) == (3, True)


def test_folder_usage_missing_folder_is_empty(tmp_path: Path) -> None:
    assert folder_usage(tmp_path / "missing", NO_PROCESS, WIDE).entries == 0
