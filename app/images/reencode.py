"""Re-encoding of images: detection by their bytes, decoding within bounds, output without metadata.

Each frame is upright, in sRGB, and in a mode that the encoder supports. `app.images.worker` runs it in separate
processes.
"""

import struct
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from io import BytesIO
from typing import BinaryIO

from PIL import Image, ImageCms, ImageOps, ImageSequence

MAX_DURATION_MS = 600_000
ORIENTATION = 0x0112

Frame = Image.Image
HEAD_BYTES = 64
LARGE_PX = 4_000_000
"""Larger images use fast encoder settings. The slow settings need half a minute at 40 MP."""
THUMBNAIL_QUALITY = 72
_COLOURS = ("RGB", "RGBA")


def plain(frame: Frame, modes: Collection[str], width: int | None) -> Frame:
    """Return a copy of the frame: upright, in sRGB, in one of the modes, at most that wide, without metadata."""
    image = _in_srgb(_apply_orientation(frame))
    resized = width is not None and width < image.width
    mixes = image.mode in ("L", "LA", "RGB", "RGBA") and "transparency" not in image.info
    if image.mode not in modes or (resized and not mixes):
        image = _to_color_mode(image, alpha="RGBA" in modes)
    if resized and width is not None:
        height = max(1, round(image.height * width / image.width))
        image = image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
    if image.mode == "P":
        image = _sorted_palette(image)
    # Pillow reuses one object for all frames. A copy of a single frame takes 15 ms at 12 MP and is not needed.
    clean = image.copy() if image is frame and getattr(frame, "is_animated", False) else image
    clean.info = {name: image.info[name] for name in ("transparency",) if name in image.info}
    return clean


def _sorted_palette(image: Frame) -> Frame:
    """Return the image with a sorted palette without unused colours, because a palette can contain a message."""
    if isinstance(image.info.get("transparency"), bytes):
        return _to_color_mode(image)
    colours = image.getpalette() or []
    used = [int(index) for index, count in enumerate(image.histogram()) if count]
    return image.remap_palette(sorted(used, key=lambda index: colours[3 * index : 3 * index + 3]))


def _to_color_mode(image: Frame, *, alpha: bool = True) -> Frame:
    """Return the image in RGB or RGBA. Without alpha, transparent pixels become white."""
    see_through = image.has_transparency_data
    if image.mode.startswith("I"):
        image = image.convert("I").point(lambda level: level / 256).convert("L")
    if not see_through:
        return image.convert("RGB")
    full = image.convert("RGBA")
    if alpha:
        return full
    white = Image.new("RGBA", full.size, "white")
    return Image.alpha_composite(white, full).convert("RGB")


def _apply_orientation(frame: Frame) -> Frame:
    try:
        if frame.getexif().get(ORIENTATION, 1) == 1:
            return frame
        turned = ImageOps.exif_transpose(frame)
    except Exception:  # an unreadable Exif block has no orientation
        return frame
    return frame if turned is None else turned


def _in_srgb(image: Frame) -> Frame:
    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("RGB", "RGBA", "CMYK"):
        return image
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        if "sRGB" in ImageCms.getProfileDescription(source):
            return image
        mode = "RGB" if image.mode == "CMYK" else image.mode
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode=mode)
    except Exception:  # an unreadable profile is ignored
        return image
    return image if converted is None else converted


def duration_ms(frame: Frame) -> int:
    """Return the duration of the frame; 0 for an invalid value."""
    value = frame.info.get("duration", 0)
    return min(max(round(value), 0), MAX_DURATION_MS) if isinstance(value, int | float) and value == value else 0


class ImageErrorCode(StrEnum):
    """The reason of a failure."""

    UNSUPPORTED = "unsupported"
    BROKEN = "broken"
    TOO_LARGE = "too_large"


class ImageError(Exception):
    """An image that is not accepted. The message is for the sender."""

    def __init__(self, fault: ImageErrorCode, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True)
class ImageBounds:
    """Maximum pixels per side, pixels in total, frames, and pixels of all frames together."""

    side_px: int
    area_px: int
    frames: int
    animation_px: int


@dataclass(frozen=True)
class ImageInfo:
    """The description of the written image."""

    mimetype: str
    extension: str
    width: int
    height: int
    frames: int


@dataclass(frozen=True)
class _Format:
    """A format with its name in Pillow, its media type, its modes and its encoder options."""

    name: str
    mimetype: str
    extension: str
    modes: tuple[str, ...]
    options: Callable[[int, bool], dict[str, object]]
    """(pixels of all frames, whether the source was lossless) → the encoder's options."""


def _webp(area_px: int, lossless: bool) -> dict[str, object]:
    method = 4 if area_px < LARGE_PX else 0 if lossless else 2
    return {"lossless": lossless, "quality": 60 if lossless else 88, "method": method, "exact": lossless}


def _avif(area_px: int, _lossless: bool) -> dict[str, object]:
    return {"quality": 78, "speed": 8 if area_px < LARGE_PX else 10}


def _png(area_px: int, _lossless: bool) -> dict[str, object]:
    return {"compress_level": 6 if area_px < LARGE_PX else 3}


_FORMATS = {
    option.name: option
    for option in (
        _Format("PNG", "image/png", "png", ("1", "L", "LA", "P", "I", "I;16", *_COLOURS), _png),
        _Format("JPEG", "image/jpeg", "jpg", ("L", "RGB"), lambda *_: {"quality": 90}),
        _Format("WEBP", "image/webp", "webp", _COLOURS, _webp),
        _Format("GIF", "image/gif", "gif", ("1", "L", "P", *_COLOURS), lambda *_: {"optimize": False}),
        _Format("AVIF", "image/avif", "avif", _COLOURS, _avif),
    )
}


def reencode(
    source: BinaryIO, out: BinaryIO, bounds: ImageBounds, *, width: int | None = None, is_thumbnail: bool = False
) -> ImageInfo:
    """Re-encode an image in its format, with at most `width` pixels in width if that is set.

    A thumbnail is the first frame as WebP.

    Raises:
        ImageError: the image is not PNG, JPEG, WebP, GIF or AVIF, is damaged, or exceeds the bounds (by its header).
    """
    head = source.read(HEAD_BYTES)
    source.seek(0)
    image_format = _FORMATS.get(detect_format(head) or "")
    if image_format is None:
        raise ImageError(ImageErrorCode.UNSUPPORTED, "The image must be PNG, JPEG, WebP, GIF or AVIF")
    try:
        with warnings.catch_warnings(), Image.open(source, formats=[image_format.name]) as image:
            # Pillow warns about sizes that the bounds refuse and about defects that the output does not have.
            warnings.simplefilter("ignore")
            if is_thumbnail:
                return _thumbnail(image, out, bounds, width)
            is_lossless = head[12:16] == b"VP8L"
            return _written(image_format, _frames(image_format, image, bounds, width), out, is_lossless)
    except ImageError:
        raise
    except (Image.DecompressionBombError, MemoryError) as error:
        raise ImageError(ImageErrorCode.TOO_LARGE, "The image needs too much memory") from error
    except Exception as error:
        # Pillow's decoders raise arbitrary exceptions for damaged files.
        raise ImageError(ImageErrorCode.BROKEN, "The image is damaged") from error


def _thumbnail(image: Frame, out: BinaryIO, bounds: ImageBounds, width: int | None) -> ImageInfo:
    _check_size(image.size, bounds)
    if width is not None:
        # A JPEG is decoded at a fraction of its size. The image may be turned by 90 degrees afterwards.
        image.draft(None, (2 * width, 2 * width))
    small = plain(image, _COLOURS, width)
    small.save(out, "WEBP", quality=THUMBNAIL_QUALITY, method=2)
    return ImageInfo("image/webp", "webp", small.width, small.height, 1)


def load_codecs() -> None:
    """Load the decoders and encoders of all formats. A process forked afterwards need not load them."""
    Image.preinit()
    for name in ("WebPImagePlugin", "AvifImagePlugin"):
        import_module(f"PIL.{name}")


def detect_format(head: bytes) -> str | None:
    """Return the format by the first bytes, as Pillow names it."""
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


@dataclass
class _Frames:
    """The decoded frames with their durations and the number of repetitions (0: unlimited, None: once)."""

    images: list[Frame]
    durations_ms: list[int]
    loop: int | None


def _frames(image_format: _Format, image: Frame, bounds: ImageBounds, width: int | None) -> _Frames:
    _check_size(image.size, bounds)
    if image_format.name in ("WEBP", "PNG", "AVIF"):
        _check_frames(getattr(image, "n_frames", 1), image.size, bounds)
    frames = _Frames([], [], image.info.get("loop"))
    for frame in _each(image_format, image):
        _check_size(frame.size, bounds)
        _check_frames(len(frames.images) + 1, frame.size, bounds)
        frame.load()
        frames.durations_ms.append(duration_ms(frame))
        frames.images.append(plain(frame, image_format.modes, width))
    return _in_one_mode(frames, image_format) if len(frames.images) > 1 else frames


def _each(image_format: _Format, image: Frame) -> Iterator[Frame]:
    """Yield the frames; of a JPEG only the main image, not the previews and depth maps that may follow it."""
    if image_format.name == "JPEG":
        yield image
    else:
        yield from ImageSequence.Iterator(image)


def _check_size(size: tuple[int, int], bounds: ImageBounds) -> None:
    wide, high = size
    if max(wide, high) > bounds.side_px or wide * high > bounds.area_px:
        raise ImageError(
            ImageErrorCode.TOO_LARGE,
            f"An image can have at most {bounds.side_px} pixels per side and {bounds.area_px:,} in total",
        )


def _check_frames(count: int, size: tuple[int, int], bounds: ImageBounds) -> None:
    if count > bounds.frames:
        raise ImageError(ImageErrorCode.TOO_LARGE, f"An animation can have at most {bounds.frames} frames")
    if count > 1 and count * size[0] * size[1] > bounds.animation_px:
        raise ImageError(
            ImageErrorCode.TOO_LARGE,
            f"The frames of an animation can have at most {bounds.animation_px:,} pixels in total",
        )


def _in_one_mode(frames: _Frames, image_format: _Format) -> _Frames:
    """Convert all frames to one mode, as the encoders of animations require."""
    if image_format.name != "PNG" or len({frame.mode for frame in frames.images}) > 1 or frames.images[0].mode == "P":
        mode = "RGBA" if any(frame.has_transparency_data for frame in frames.images) else "RGB"
        frames.images = [frame.convert(mode) for frame in frames.images]
    return frames


def _written(image_format: _Format, frames: _Frames, out: BinaryIO, lossless: bool) -> ImageInfo:
    first, *others = frames.images
    options = image_format.options(first.width * first.height * len(frames.images), lossless)
    if others:
        options |= {"save_all": True, "append_images": others, "duration": frames.durations_ms}
        options |= {} if frames.loop is None else {"loop": frames.loop}
        if image_format.name == "GIF" and first.mode == "RGBA":
            options["disposal"] = 2
    first.save(out, image_format.name, **options)
    return ImageInfo(image_format.mimetype, image_format.extension, first.width, first.height, len(frames.images))
