"""Pictures made anew in a process of their own: its answers, its bounds, and a hundred and fifty hostile files."""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.core import imaging
from app.core.errors import AppError, Invalid, TooLarge, Unavailable, WrongMediaType
from app.core.imaging import Remade, remake
from app.core.limits import UploadLimits
from tests.full_disk import files_of_at_most
from tests.samples import hostile
from tests.samples.hostile import MARKS, Hostile
from tests.samples.pictures import FORMATS, noise, opened, picture

KINDS = [hostile.wrong_types, hostile.trailers, hostile.metadata, hostile.truncated, hostile.flipped, hostile.bombs]


def made(content: bytes, *, width: int | None = None) -> tuple[Remade, bytes]:
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out:
        source.write(content)
        told = remake(source, out, UploadLimits(), width=width)
        return told, out.read()


class TestRemake:
    @pytest.mark.parametrize("name", FORMATS)
    def test_the_facts_are_those_of_the_bytes(self, name: str) -> None:
        told, content = made(picture(name, 40, 30))
        assert (told.mimetype, told.size) == (FORMATS[name], len(content))
        assert (told.width, told.height) == opened(content).size == (40, 30)

    def test_a_width_is_passed_on(self) -> None:
        assert made(picture("PNG", 40, 30), width=10)[0].width == 10

    @pytest.mark.parametrize(
        ("content", "error"),
        [(b"words", WrongMediaType), (picture()[:40], Invalid), (hostile.png(9000, 1, bytes(9)), TooLarge)],
    )
    def test_each_fault_has_its_status(self, content: bytes, error: type[AppError]) -> None:
        with pytest.raises(error):
            made(content)

    def test_a_damaged_picture_is_the_fault_of_the_field(self) -> None:
        with pytest.raises(Invalid) as raised:
            made(picture()[:40])
        assert [fault.path for fault in raised.value.fields] == ["file"]

    def test_five_megabytes_pass_by_this_process(self) -> None:
        source = noise(1300, 1300)
        assert len(source) > 5_000_000
        assert made(source)[0].size > 5_000_000


class TestBounds:
    def test_a_process_that_takes_too_long_is_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(imaging, "TIMEOUT_S", 0.05)
        with pytest.raises(TooLarge, match="too long"):
            made(noise(1300, 1300))

    def test_a_process_that_takes_too_much_memory_gets_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(imaging, "MEMORY_BYTES", 150_000_000)
        with pytest.raises(TooLarge, match="memory"):
            made(picture("PNG", 8000, 5000, mode="RGBA"))

    def test_a_process_that_is_killed_is_a_damaged_picture(self, monkeypatch: pytest.MonkeyPatch) -> None:
        killed = _killing(monkeypatch)
        with pytest.raises(Invalid):
            made(noise(1300, 1300))
        assert killed == [-9]

    def test_a_full_disk_is_503(self) -> None:
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out:
            source.write(noise(1300, 1300))
            with files_of_at_most(1_000_000), pytest.raises(Unavailable):
                remake(source, out, UploadLimits())

    def test_no_process_is_left_behind(self) -> None:
        before = _children()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(made, [picture()] * 8))
        assert _children() == before

    def test_who_waits_too_long_is_told_to_come_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(imaging, "_places", threading.BoundedSemaphore(1))
        monkeypatch.setattr(imaging, "WAIT_S", 0.05)
        with imaging._places, pytest.raises(Unavailable):
            made(picture())
        assert made(picture())[0].width == 12


class TestHostileFiles:
    def test_there_are_a_hundred_and_fifty_and_each_is_another(self) -> None:
        files = hostile.files()
        assert len(files) >= 150
        assert len({file.content for file in files}) == len({file.name for file in files}) == len(files)

    @pytest.mark.parametrize("kind", KINDS)
    def test_each_is_refused_or_comes_out_clean(
        self, kind: Callable[[], Iterator[Hostile]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(imaging, "TIMEOUT_S", 120)  # a machine at work elsewhere is no fault of the file
        monkeypatch.setattr(imaging, "WAIT_S", 120)
        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(_outcome, kind()))
        assert [outcome for outcome in outcomes if outcome] == []


def _outcome(file: Hostile) -> str | None:
    """What is wrong with how a file was treated."""
    started = time.monotonic()
    try:
        told, content = made(file.content)
    except (Invalid, TooLarge, WrongMediaType):
        return None if time.monotonic() - started < 10 else f"{file.name}: slow"
    if not file.taken:
        return f"{file.name}: taken"
    left = [mark for mark in MARKS if mark in content]
    if left or opened(content).size != (told.width, told.height):
        return f"{file.name}: not clean, {left}"
    return None


def _killing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Kill the next process as soon as it runs; its exit status."""
    statuses: list[int] = []

    class Short(subprocess.Popen[bytes]):
        def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
            self.kill()
            told = super().communicate(input, timeout)
            statuses.append(self.returncode)
            return told

    monkeypatch.setattr(imaging.subprocess, "Popen", Short)
    return statuses


def _children() -> list[str]:
    ended = subprocess.run(
        ["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    )
    return sorted(line for line in ended.stdout.splitlines() if "images.py" in line)
