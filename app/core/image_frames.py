"""One frame of a picture, brought to its bare pixels: upright, in sRGB, in a mode that can be written."""

from collections.abc import Collection
from io import BytesIO
from typing import Any

from PIL import Image, ImageCms, ImageOps

LONGEST_MS = 600_000
ORIENTATION = 0x0112

Frame = Image.Image


def plain(frame: Any, modes: Collection[str], width: int | None) -> Frame:
    """A copy of the frame: upright, in sRGB, in one of the modes, at most that wide, nothing but its pixels."""
    made: Frame = _in_srgb(_upright(frame))
    resized = width is not None and width < made.width
    mixes = made.mode in ("L", "LA", "RGB", "RGBA") and "transparency" not in made.info
    if made.mode not in modes or (resized and not mixes):
        made = _coloured(made, alpha="RGBA" in modes)
    if resized and width is not None:
        height = max(1, round(made.height * width / made.width))
        made = made.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
    if made.mode == "P":
        made = _sorted_palette(made)
    # The file itself stands for each of its frames in turn; a picture of one frame need not be copied (15 ms at 12 MP).
    clean = made.copy() if made is frame and getattr(frame, "is_animated", False) else made
    clean.info = {name: made.info[name] for name in ("transparency",) if name in made.info}
    return clean


def _sorted_palette(image: Frame) -> Frame:
    """The same colours in another order, unused ones dropped: a palette could spell words."""
    if isinstance(image.info.get("transparency"), bytes):
        return _coloured(image)
    colours = image.getpalette() or []
    used = [int(index) for index, count in enumerate(image.histogram()) if count]
    return image.remap_palette(sorted(used, key=lambda index: colours[3 * index : 3 * index + 3]))


def _coloured(image: Frame, *, alpha: bool = True) -> Frame:
    """The picture in full colours; what is transparent becomes white where there is no transparency."""
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


def _upright(frame: Any) -> Any:
    try:
        if frame.getexif().get(ORIENTATION, 1) == 1:
            return frame
        turned = ImageOps.exif_transpose(frame)
    except Exception:  # an Exif block that cannot be read turns nothing
        return frame
    return frame if turned is None else turned


def _in_srgb(image: Any) -> Any:
    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("RGB", "RGBA", "CMYK"):
        return image
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        if "sRGB" in ImageCms.getProfileDescription(source):
            return image
        mode = "RGB" if image.mode == "CMYK" else image.mode
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode=mode)
    except Exception:  # a profile that cannot be read changes no colour
        return image
    return image if converted is None else converted


def duration_ms(frame: Any) -> int:
    """How long the frame is shown; nonsense is no time at all."""
    given = frame.info.get("duration", 0)
    return min(max(round(given), 0), LONGEST_MS) if isinstance(given, int | float) and given == given else 0
