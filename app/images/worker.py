"""Re-encoding of images in a separate process, so that a decoder cannot exhaust or crash the web process.

The process has an empty environment and limits on memory and CPU time. It is killed after `TIMEOUT_S`.
"""

import json
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from app.core.errors import AppError, InvalidRequest, PayloadTooLarge, ServiceUnavailable, UnsupportedMediaType
from app.core.limits import MIB, UploadLimits
from app.images.child_process import EXIT_NO_SPACE
from app.images.reencode import ImageBounds, ImageErrorCode

TIMEOUT_S = 40
MEMORY_BYTES = 2048 * MIB
MAX_PROCESSES, WAIT_S = 2, 20

SCRIPT = Path(__file__).with_name("child_process.py")

_slots = threading.BoundedSemaphore(MAX_PROCESSES)


@dataclass(frozen=True)
class ReencodedImage:
    """A re-encoded image; `hash` is the SHA-256 of its bytes."""

    mimetype: str
    extension: str
    width: int
    height: int
    frames: int
    size: int
    hash: str


def remake(source: BinaryIO, out: BinaryIO, limits: UploadLimits, *, width: int | None = None) -> ReencodedImage:
    """Re-encode the image of the file `source` to the file `out`, and seek `out` to its start.

    Both must be real files: the child process inherits their descriptors.

    Raises:
        UnsupportedMediaType: the image is not PNG, JPEG, WebP, GIF or AVIF.
        PayloadTooLarge: the image exceeds the limits of pixels, frames, memory or time.
        InvalidRequest: the image is damaged.
        ServiceUnavailable: too many images are waiting, or the disk is full.
    """
    if not _slots.acquire(timeout=WAIT_S):
        raise ServiceUnavailable("Too many images are being processed. Try again in a moment", retry_after_s=5)
    try:
        report = _run(source, out, limits, width)
    finally:
        _slots.release()
    out.seek(0)
    if "fault" in report:
        raise _refusal(ImageErrorCode(report["fault"]), report["message"])
    return ReencodedImage(**report)


def _run(source: BinaryIO, out: BinaryIO, limits: UploadLimits, width: int | None) -> dict[str, Any]:
    bounds = ImageBounds(limits.side_px, limits.area_px, limits.frames, limits.animation_px)
    arguments = {"bounds": asdict(bounds), "memory_bytes": MEMORY_BYTES, "width": width}
    source.seek(0)
    with subprocess.Popen(
        # -I: neither the working directory nor the environment decides what is imported.
        [sys.executable, "-I", str(SCRIPT), json.dumps(arguments)],
        stdin=source, stdout=out, stderr=subprocess.PIPE, env={}, cwd="/",
    ) as process:  # fmt: skip
        try:
            _, output = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return {"fault": ImageErrorCode.TOO_LARGE, "message": "The image takes too long to decode"}
        finally:
            if process.poll() is None:
                process.kill()
    return _parse_report(process.returncode, output)


def _parse_report(status: int, output: bytes) -> dict[str, Any]:
    """Return the last line that the process wrote; a damaged image if it crashed."""
    if status == 0:
        report: dict[str, Any] = json.loads(output.rpartition(b"\n")[2])
        return report
    if status == EXIT_NO_SPACE:
        raise ServiceUnavailable("The disk for uploads is full. Try again later", retry_after_s=30)
    return {"fault": ImageErrorCode.BROKEN, "message": "The image is damaged"}


def _refusal(fault: ImageErrorCode, message: str) -> AppError:
    match fault:
        case ImageErrorCode.UNSUPPORTED:
            return UnsupportedMediaType(message, code="UNSUPPORTED_IMAGE")
        case ImageErrorCode.TOO_LARGE:
            return PayloadTooLarge(message, code="IMAGE_TOO_LARGE")
        case ImageErrorCode.BROKEN:
            return InvalidRequest.field("file", message, code="INVALID_IMAGE")
