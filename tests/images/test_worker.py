"""Tests of the image processes: results, limits and 150 hostile files."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from app.core.errors import AppError, InvalidRequest, PayloadTooLarge, ServiceUnavailable, UnsupportedMediaType
from app.core.limits import UploadLimits
from app.images.worker import ImageProcesses, ReencodedImage, fork_server, remake
from tests.support.full_disk import files_of_at_most
from tests.support.samples import hostile
from tests.support.samples.hostile import MARKS, Hostile
from tests.support.samples.pictures import FORMATS, noise, opened, picture

KINDS = [hostile.wrong_types, hostile.trailers, hostile.metadata, hostile.truncated, hostile.flipped, hostile.bombs]
PATIENT = ImageProcesses(timeout_s=120)
"""Limits for a busy machine, which is not an error of a file."""


def reencoded(
    content: bytes, processes: ImageProcesses | None = None, *, width: int | None = None
) -> tuple[ReencodedImage, bytes]:
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out:
        source.write(content)
        given = {} if processes is None else {"processes": processes}
        result = remake(source, out, UploadLimits(), width=width, **given)
        return result, out.read()


class TestReencode:
    @pytest.mark.parametrize("name", FORMATS)
    def test_result_describes_the_bytes(self, name: str) -> None:
        told, content = reencoded(picture(name, 40, 30))
        assert (told.mimetype, told.size) == (FORMATS[name], len(content))
        assert (told.width, told.height) == opened(content).size == (40, 30)

    def test_width_is_applied(self) -> None:
        assert reencoded(picture("PNG", 40, 30), width=10)[0].width == 10

    @pytest.mark.parametrize(
        ("content", "error"),
        [
            (b"words", UnsupportedMediaType),
            (picture()[:40], InvalidRequest),
            (hostile.png(9000, 1, bytes(9)), PayloadTooLarge),
        ],
    )
    def test_error_code_has_its_status(self, content: bytes, error: type[AppError]) -> None:
        with pytest.raises(error):
            reencoded(content)

    def test_damaged_image_is_an_error_of_the_field(self) -> None:
        with pytest.raises(InvalidRequest) as raised:
            reencoded(picture()[:40])
        assert [fault.path for fault in raised.value.fields] == ["file"]

    def test_image_of_five_megabytes_is_reencoded_by_the_subprocess(self) -> None:
        source = noise(1300, 1300)
        assert len(source) > 5_000_000
        assert reencoded(source)[0].size > 5_000_000


class TestBounds:
    def test_slow_process_is_ended(self) -> None:
        with pytest.raises(PayloadTooLarge, match="too long"):
            reencoded(noise(1300, 1300), ImageProcesses(timeout_s=0.05))

    def test_process_above_the_memory_limit_fails(self) -> None:
        with pytest.raises(PayloadTooLarge, match="memory"):
            reencoded(picture("PNG", 5000, 4000, mode="RGBA"), ImageProcesses(memory_bytes=100_000_000))

    def test_killed_process_is_reported_as_a_damaged_image(self) -> None:
        reencoded(picture())
        _wait_until(lambda: not _image_processes())
        killer = threading.Thread(target=_kill_next_process)
        killer.start()
        with pytest.raises(InvalidRequest):
            reencoded(noise(4000, 2000))
        killer.join()

    def test_killed_server_is_started_again(self) -> None:
        reencoded(picture())
        server = fork_server.process
        assert server is not None
        server.kill()
        server.wait()
        assert reencoded(picture())[0].width == 12
        assert fork_server.process is not server

    def test_full_disk_raises_service_unavailable(self) -> None:
        # A process inherits the limit of the server, and the server that of this process.
        fork_server.stop()
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out:
            source.write(noise(1300, 1300))
            with files_of_at_most(1_000_000), pytest.raises(ServiceUnavailable):
                remake(source, out, UploadLimits())
        fork_server.stop()

    def test_reencode_leaves_no_process(self) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(reencoded, [picture()] * 8))
        _wait_until(lambda: not _image_processes())

    def test_user_cannot_occupy_the_slot_of_another_one(self) -> None:
        processes = ImageProcesses(wait_s=0)
        with processes.slot("usr_1"):
            with pytest.raises(ServiceUnavailable), processes.slot("usr_1"):
                pass
            with processes.slot("usr_2"):
                pass
        with processes.slot("usr_1"):
            pass


@cache
def files_of(kind: Callable[[], Iterator[Hostile]]) -> list[Hostile]:
    """Return the hostile files of a kind. They are created once, because the compression of 60 MB takes time."""
    return list(kind())


class TestHostileFiles:
    def test_hostile_files_are_150_different_files(self) -> None:
        files = [file for kind in KINDS for file in files_of(kind)]
        assert len(files) >= 150
        assert len({file.content for file in files}) == len({file.name for file in files}) == len(files)

    @pytest.mark.parametrize("kind", KINDS)
    def test_hostile_file_is_refused_or_cleaned(self, kind: Callable[[], Iterator[Hostile]]) -> None:
        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(_outcome, files_of(kind)))
        assert [outcome for outcome in outcomes if outcome] == []


def _outcome(file: Hostile) -> str | None:
    """Return a description of the wrong treatment of a file, or None."""
    started = time.monotonic()
    try:
        told, content = reencoded(file.content, PATIENT)
    except (InvalidRequest, PayloadTooLarge, UnsupportedMediaType):
        return None if time.monotonic() - started < 10 else f"{file.name}: slow"
    if not file.taken:
        return f"{file.name}: taken"
    left = [mark for mark in MARKS if mark in content]
    if left or opened(content).size != (told.width, told.height):
        return f"{file.name}: not clean, {left}"
    return None


def _kill_next_process() -> None:
    """Kill the next image process when it runs."""
    _wait_until(_image_processes)
    os.kill(_image_processes()[0], signal.SIGKILL)


def _wait_until(condition: Callable[[], object], within_s: float = 120) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def _image_processes() -> list[int]:
    """Return the process ids of the images that are re-encoded now."""
    assert fork_server.process is not None
    pid = fork_server.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
