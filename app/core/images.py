"""Pictures made anew: judged by their bytes, decoded within bounds, written again without anything but pixels.

Knows neither requests nor processes; `app.core.imaging` runs it where a decoder can do no harm.
"""

import struct
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, BinaryIO

from PIL import Image, ImageSequence

from app.core.image_frames import Frame, duration_ms, plain

HEAD_BYTES = 64
LARGE_PX = 4_000_000
"""From here on encoders are told to hurry: at 40 MP their careful ways take half a minute."""


class Fault(StrEnum):
    """Why there is no new picture."""

    UNSUPPORTED = "unsupported"
    BROKEN = "broken"
    TOO_LARGE = "too_large"


class ImageFault(Exception):
    """The bytes make no picture that is taken; the message says to the sender why."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True)
class Bounds:
    """What a picture may be: pixels a side, pixels in all, frames, and pixels of all frames together."""

    side_px: int
    area_px: int
    frames: int
    animation_px: int


@dataclass(frozen=True)
class Picture:
    """What was written."""

    mimetype: str
    extension: str
    width: int
    height: int
    frames: int


@dataclass(frozen=True)
class _Format:
    """A format as Pillow names it and as the world does, the modes it is written in, and how."""

    name: str
    mimetype: str
    extension: str
    modes: tuple[str, ...]
    options: Callable[[int, bool], dict[str, Any]]
    """(pixels of all frames, whether the source was lossless) → the encoder's options."""


def _webp(area_px: int, lossless: bool) -> dict[str, Any]:
    method = 4 if area_px < LARGE_PX else 0 if lossless else 2
    return {"lossless": lossless, "quality": 60 if lossless else 88, "method": method, "exact": lossless}


def _avif(area_px: int, _lossless: bool) -> dict[str, Any]:
    return {"quality": 78, "speed": 8 if area_px < LARGE_PX else 10}


def _png(area_px: int, _lossless: bool) -> dict[str, Any]:
    return {"compress_level": 6 if area_px < LARGE_PX else 3}


_COLOURS = ("RGB", "RGBA")
_FORMATS = {
    one.name: one
    for one in (
        _Format("PNG", "image/png", "png", ("1", "L", "LA", "P", "I", "I;16", *_COLOURS), _png),
        _Format("JPEG", "image/jpeg", "jpg", ("L", "RGB"), lambda *_: {"quality": 90}),
        _Format("WEBP", "image/webp", "webp", _COLOURS, _webp),
        _Format("GIF", "image/gif", "gif", ("1", "L", "P", *_COLOURS), lambda *_: {"optimize": False}),
        _Format("AVIF", "image/avif", "avif", _COLOURS, _avif),
    )
}


def remake(source: BinaryIO, out: BinaryIO, bounds: Bounds, *, width: int | None = None) -> Picture:
    """Read a picture and write it anew in its own format, at most `width` pixels wide where that is given.

    Raises:
        ImageFault: no PNG, JPEG, WebP, GIF or AVIF, broken, or beyond the bounds (told from the header).
    """
    head = source.read(HEAD_BYTES)
    source.seek(0)
    known = _FORMATS.get(sniffed(head) or "")
    if known is None:
        raise ImageFault(Fault.UNSUPPORTED, "Only PNG, JPEG, WebP, GIF and AVIF pictures are taken")
    try:
        with warnings.catch_warnings(), Image.open(source, formats=[known.name]) as image:
            # Pillow warns of what our own bounds refuse, and of oddities that the new file no longer has.
            warnings.simplefilter("ignore")
            return _written(known, _frames(known, image, bounds, width), out, _is_lossless(head))
    except ImageFault:
        raise
    except (Image.DecompressionBombError, MemoryError) as error:
        raise ImageFault(Fault.TOO_LARGE, "The picture takes too much memory") from error
    except Exception as error:
        # Pillow's decoders answer broken files with whatever they stumble over.
        raise ImageFault(Fault.BROKEN, "The picture is damaged and cannot be read") from error


def sniffed(head: bytes) -> str | None:
    """The format the first bytes tell of, as Pillow names it."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        size = min(struct.unpack(">I", head[:4])[0], len(head))
        brands = {head[at : at + 4] for at in (8, *range(16, size, 4))}
        return "AVIF" if brands & {b"avif", b"avis"} else None
    return None


def _is_lossless(head: bytes) -> bool:
    return head[12:16] == b"VP8L"


@dataclass
class _Frames:
    """The decoded frames with how long each is shown, and how often they are repeated (0: for ever, None: once)."""

    images: list[Frame]
    durations_ms: list[int]
    loop: int | None


def _frames(known: _Format, image: Any, bounds: Bounds, width: int | None) -> _Frames:
    _judge(image.size, bounds)
    if known.name in ("WEBP", "PNG", "AVIF"):
        _judge_frames(getattr(image, "n_frames", 1), image.size, bounds)
    found = _Frames([], [], image.info.get("loop"))
    for frame in _each(known, image):
        _judge(frame.size, bounds)
        _judge_frames(len(found.images) + 1, frame.size, bounds)
        frame.load()
        found.durations_ms.append(duration_ms(frame))
        found.images.append(plain(frame, known.modes, width))
    return _alike(found, known) if len(found.images) > 1 else found


def _each(known: _Format, image: Any) -> Iterator[Any]:
    """The frames; of a JPEG only the picture itself, not the previews and depths that may follow it."""
    if known.name == "JPEG":
        yield image
    else:
        yield from ImageSequence.Iterator(image)


def _judge(size: tuple[int, int], bounds: Bounds) -> None:
    wide, high = size
    if max(wide, high) > bounds.side_px or wide * high > bounds.area_px:
        raise ImageFault(
            Fault.TOO_LARGE, f"A picture may be {bounds.side_px} pixels a side and {bounds.area_px:,} in all"
        )


def _judge_frames(count: int, size: tuple[int, int], bounds: Bounds) -> None:
    if count > bounds.frames:
        raise ImageFault(Fault.TOO_LARGE, f"An animation may have {bounds.frames} frames")
    if count > 1 and count * size[0] * size[1] > bounds.animation_px:
        raise ImageFault(Fault.TOO_LARGE, f"The frames of an animation may have {bounds.animation_px:,} pixels in all")


def _alike(found: _Frames, known: _Format) -> _Frames:
    """All frames in one mode, as the encoders of animations want them."""
    if known.name != "PNG" or len({frame.mode for frame in found.images}) > 1 or found.images[0].mode == "P":
        mode = "RGBA" if any(frame.has_transparency_data for frame in found.images) else "RGB"
        found.images = [frame.convert(mode) for frame in found.images]
    return found


def _written(known: _Format, found: _Frames, out: BinaryIO, lossless: bool) -> Picture:
    first, *others = found.images
    options = known.options(first.width * first.height * len(found.images), lossless)
    if others:
        options |= {"save_all": True, "append_images": others, "duration": found.durations_ms}
        options |= {} if found.loop is None else {"loop": found.loop}
        if known.name == "GIF" and first.mode == "RGBA":
            options["disposal"] = 2
    first.save(out, known.name, **options)
    return Picture(known.mimetype, known.extension, first.width, first.height, len(found.images))
