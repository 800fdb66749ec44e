"""Images for tests, created with Pillow, and readers of image responses."""

import io
import random
from typing import Any

from PIL import Image

MARK = b"secret-place-48.8584N"
SCRIPT = b"<html><script>alert(document.domain)</script></html>"
FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif", "AVIF": "image/avif"}
ANIMATED = ("PNG", "WEBP", "GIF", "AVIF")


def picture(name: str = "PNG", width: int = 12, height: int = 8, *, mode: str = "RGB", **options: Any) -> bytes:
    """Return an image with three coloured thirds."""
    image = Image.new(
        mode, (width, height), 90 if len(mode) == 1 or mode.startswith("I") else (200, 30, 30, 255)[: len(mode)]
    )
    out = io.BytesIO()
    image.save(out, name, **options)
    return out.getvalue()


def animation(name: str, frames: int, width: int = 16, height: int = 12, **options: Any) -> bytes:
    """Return an endless animation of different frames, 70 ms each."""
    images = (_frame(index, width, height) for index in range(frames))
    first, out = next(images), io.BytesIO()
    # Pillow reads the frames of a GIF once, so one frame is in memory at a time. It reads the others several times.
    others = images if name == "GIF" else list(images)
    first.save(out, name, save_all=True, append_images=others, duration=70, loop=0, **options)
    return out.getvalue()


def _frame(index: int, width: int, height: int) -> Image.Image:
    image = Image.new("RGB", (width, height), ("white", "navy")[index % 2])
    image.paste(("red", "yellow")[index % 2], (index % width, 0, width, height // 2))
    return image


def noise(width: int, height: int, *, seed: int = 1) -> bytes:
    """Return an incompressible PNG of about three bytes per pixel."""
    image = Image.frombytes("RGB", (width, height), random.Random(seed).randbytes(width * height * 3))
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=0)
    return out.getvalue()


def opened(content: bytes) -> Image.Image:
    """Decode an image as a viewer does."""
    image = Image.open(io.BytesIO(content))
    image.load()
    return image
