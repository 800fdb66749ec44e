"""Re-encoding of images in separate processes, so that a decoder cannot exhaust or crash the web process.

Each image has its own process with an empty environment and limits on memory and time. A fork server starts the
processes.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from app.concurrency.bounded import ConcurrencyLimiter
from app.core.errors import AppError, InvalidRequest, PayloadTooLarge, ServiceUnavailable, UnsupportedMediaType
from app.core.limits import MIB, UploadLimits
from app.images.fork_server import STARTED
from app.images.reencode import ImageBounds, ImageErrorCode

START_TIMEOUT_S = 20
SCRIPT = Path(__file__).with_name("fork_server.py")
GRACE_S = 5


class ForkServer:
    """The client of the fork server. The server starts with the first image and ends with this process."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._lock = threading.Lock()

    def start_process(self, message: bytes, files: Sequence[int]) -> None:
        """Start a process with a message and inherited descriptors. Raises ServiceUnavailable."""
        with self._lock:
            if self._sent(message, files):
                return
            # The server did not run, or the system ended it.
            self._stop()
            self._start()
            if not self._sent(message, files):
                raise ServiceUnavailable("Images cannot be processed at the moment. Try again later", retry_after_s=30)

    def stop(self) -> None:
        """End the server. The next image starts another one."""
        with self._lock:
            self._stop()

    def _sent(self, message: bytes, files: Sequence[int]) -> bool:
        if self._requests is None:
            return False
        try:
            socket.send_fds(self._requests, [message], files)
            return self._requests.recv(1) == STARTED
        except OSError:
            return False

    def _start(self) -> None:
        self._requests, theirs = socket.socketpair()
        self._requests.settimeout(START_TIMEOUT_S)
        with theirs:
            self.process = subprocess.Popen(
                # -I: neither the working directory nor the environment decides what is imported.
                [sys.executable, "-I", str(SCRIPT)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )

    def _stop(self) -> None:
        if self._requests is not None:
            self._requests.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self._requests = self.process = None


fork_server = ForkServer()


@dataclass(frozen=True)
class ImageProcesses:
    """Limits of the image processes, and the slots of those that run at the same time: one of two for a user."""

    timeout_s: float = 40
    memory_bytes: int = 2048 * MIB
    wait_s: float = 20
    slots: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(per_key=1, total=2))

    @contextmanager
    def slot(self, user_id: str) -> Iterator[None]:
        """Occupy a slot in the share of a user. Raises ServiceUnavailable if it stays occupied."""
        with self.slots.slot(user_id, wait_s=self.wait_s) as is_free:
            if not is_free:
                raise ServiceUnavailable("Too many images are being processed. Try again in a moment", retry_after_s=5)
            yield


uploads = ImageProcesses()


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


def remake(
    source: BinaryIO,
    out: BinaryIO,
    limits: UploadLimits,
    *,
    width: int | None = None,
    is_thumbnail: bool = False,
    processes: ImageProcesses = uploads,
) -> ReencodedImage:
    """Re-encode the image of the file `source` to the file `out`, and seek `out` to its start. Needs a slot.

    Both must be real files: the child process inherits their descriptors. A thumbnail is the first frame as WebP.

    Raises:
        UnsupportedMediaType: the image is not PNG, JPEG, WebP, GIF or AVIF.
        PayloadTooLarge: the image exceeds the limits of pixels, frames, memory or time.
        InvalidRequest: the image is damaged.
        ServiceUnavailable: the disk is full.
    """
    report = _run(source, out, limits, {"width": width, "is_thumbnail": is_thumbnail}, processes)
    out.seek(0)
    if "unavailable" in report:
        raise ServiceUnavailable(report["unavailable"], retry_after_s=30)
    if "fault" in report:
        raise _refusal(ImageErrorCode(report["fault"]), report["message"])
    return ReencodedImage(**report)


def _run(
    source: BinaryIO, out: BinaryIO, limits: UploadLimits, options: dict[str, Any], processes: ImageProcesses
) -> dict[str, Any]:
    bounds = ImageBounds(limits.side_px, limits.area_px, limits.frames, limits.animation_px)
    parameters = {
        "bounds": asdict(bounds),
        "memory_bytes": processes.memory_bytes,
        "timeout_s": processes.timeout_s,
        "options": options,
    }
    source.seek(0)
    started = time.monotonic()
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            files = [source.fileno(), out.fileno(), theirs.fileno()]
            fork_server.start_process(json.dumps(parameters).encode(), files)
        ours.settimeout(processes.timeout_s + GRACE_S)
        try:
            report = b"".join(iter(lambda: ours.recv(4096), b""))
        except TimeoutError:
            report = b""
    if report:
        result: dict[str, object] = json.loads(report)
        return result
    if time.monotonic() - started >= processes.timeout_s:
        return {"fault": ImageErrorCode.TOO_LARGE, "message": "The image takes too long to decode"}
    return {"fault": ImageErrorCode.BROKEN, "message": "The image is damaged"}


def _refusal(fault: ImageErrorCode, message: str) -> AppError:
    match fault:
        case ImageErrorCode.UNSUPPORTED:
            return UnsupportedMediaType(message, code="UNSUPPORTED_IMAGE")
        case ImageErrorCode.TOO_LARGE:
            return PayloadTooLarge(message, code="IMAGE_TOO_LARGE")
        case ImageErrorCode.BROKEN:
            return InvalidRequest.field("file", message, code="INVALID_IMAGE")
