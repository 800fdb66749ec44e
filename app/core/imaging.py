"""Runs `app.core.images` as a process of its own: a decoder that eats memory or time, or falls over, takes nothing along.

The process gets an empty environment, a limit of memory and of processor time, and is killed after `TIMEOUT_S`.
"""

import json
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from app.core.errors import AppError, Invalid, TooLarge, Unavailable, WrongMediaType
from app.core.image_script import NO_ROOM
from app.core.images import Bounds, Fault
from app.core.limits import MIB, UploadLimits

TIMEOUT_S = 40
MEMORY_BYTES = 2048 * MIB
AT_ONCE, WAIT_S = 2, 20

SCRIPT = Path(__file__).with_name("image_script.py")

_places = threading.BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True)
class Remade:
    """A picture made anew; `hash` is the SHA-256 of its bytes."""

    mimetype: str
    extension: str
    width: int
    height: int
    frames: int
    size: int
    hash: str


def remake(source: BinaryIO, out: BinaryIO, limits: UploadLimits, *, width: int | None = None) -> Remade:
    """Make the picture in the file `source` anew into the file `out`, which is then read from its start.

    Both must be real files: the process gets their handles, and the bytes never pass through this one.

    Raises:
        WrongMediaType: no PNG, JPEG, WebP, GIF or AVIF.
        TooLarge: more pixels, frames, memory or time than the limits.
        Invalid: a damaged picture.
        Unavailable: too many pictures are waiting, or the disk is full.
    """
    if not _places.acquire(timeout=WAIT_S):
        raise Unavailable("Too many pictures at once; try again in a moment", retry_after_s=5)
    try:
        told = _run(source, out, limits, width)
    finally:
        _places.release()
    out.seek(0)
    if "fault" in told:
        raise _refusal(Fault(told["fault"]), told["message"])
    return Remade(**told)


def _run(source: BinaryIO, out: BinaryIO, limits: UploadLimits, width: int | None) -> dict[str, Any]:
    bounds = Bounds(limits.side_px, limits.area_px, limits.frames, limits.animation_px)
    arguments = {"bounds": asdict(bounds), "memory_bytes": MEMORY_BYTES, "width": width}
    source.seek(0)
    with subprocess.Popen(
        # -I: neither the working directory nor the environment decides what is imported.
        [sys.executable, "-I", str(SCRIPT), json.dumps(arguments)],
        stdin=source, stdout=out, stderr=subprocess.PIPE, env={}, cwd="/",
    ) as process:  # fmt: skip
        try:
            _, told = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return {"fault": Fault.TOO_LARGE, "message": "The picture takes too long to read"}
        finally:
            if process.poll() is None:
                process.kill()
    return _understood(process.returncode, told)


def _understood(status: int, told: bytes) -> dict[str, Any]:
    """What the process said last; one that fell over said nothing we could use."""
    if status == 0:
        found: dict[str, Any] = json.loads(told.rpartition(b"\n")[2])
        return found
    if status == NO_ROOM:
        raise Unavailable("There is no room for files right now; try again later", retry_after_s=30)
    return {"fault": Fault.BROKEN, "message": "The picture is damaged and cannot be read"}


def _refusal(fault: Fault, message: str) -> AppError:
    match fault:
        case Fault.UNSUPPORTED:
            return WrongMediaType(message, code="UNSUPPORTED_IMAGE")
        case Fault.TOO_LARGE:
            return TooLarge(message, code="IMAGE_TOO_LARGE")
        case Fault.BROKEN:
            return Invalid.field("file", message, code="INVALID_IMAGE")
