"""Tests of the image re-encoder in this process. `test_worker.py` tests its subprocess."""

import io

import pytest
from PIL import Image, ImageCms, ImageSequence

from app.images import reencode
from app.images.reencode import ImageBounds, ImageError, ImageErrorCode, ImageInfo, detect_format
from app.images.reencode import reencode as remake
from tests.support.samples.pictures import ANIMATED, FORMATS, MARK, animation, opened, picture

BOUNDS = ImageBounds(side_px=8192, area_px=40_000_000, frames=100, animation_px=80_000_000)


def reencoded(content: bytes, *, width: int | None = None, bounds: ImageBounds = BOUNDS) -> tuple[ImageInfo, bytes]:
    out = io.BytesIO()
    return remake(io.BytesIO(content), out, bounds, width=width), out.getvalue()


def error_code(content: bytes, bounds: ImageBounds = BOUNDS) -> ImageErrorCode:
    with pytest.raises(ImageError) as raised:
        reencoded(content, bounds=bounds)
    return raised.value.fault


class TestFormats:
    @pytest.mark.parametrize("name", FORMATS)
    def test_reencode_keeps_format_size_and_colours(self, name: str) -> None:
        told, content = reencoded(picture(name, 40, 30))
        assert told == ImageInfo(FORMATS[name], told.extension, 40, 30, 1)
        assert opened(content).format == name
        red, green, blue = opened(content).convert("RGB").getpixel((20, 15))  # type: ignore[misc]
        assert (abs(red - 200) < 9, abs(green - 30) < 9, abs(blue - 30) < 9) == (True, True, True)

    @pytest.mark.parametrize("name", FORMATS)
    def test_format_is_detected_by_the_first_bytes(self, name: str) -> None:
        assert detect_format(picture(name)[: reencode.HEAD_BYTES]) == name

    @pytest.mark.parametrize("name", FORMATS)
    def test_reencode_is_deterministic(self, name: str) -> None:
        assert reencoded(picture(name))[1] == reencoded(picture(name))[1]

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "I;16", "RGB", "RGBA"])
    def test_png_keeps_depth_and_pixels(self, mode: str) -> None:
        before = Image.new("RGBA", (9, 7), (10, 200, 30, 90))
        before = Image.new("I;16", (9, 7), 40_000) if mode == "I;16" else before.convert(mode)
        out = io.BytesIO()
        before.save(out, "PNG")
        after = opened(reencoded(out.getvalue())[1])
        assert after.convert("RGBA").tobytes() == opened(out.getvalue()).convert("RGBA").tobytes()

    def test_cmyk_jpeg_becomes_rgb(self) -> None:
        assert opened(reencoded(picture("JPEG", mode="CMYK"))[1]).mode == "RGB"

    def test_lossless_webp_stays_lossless(self) -> None:
        source = picture("WEBP", 30, 20, lossless=True)
        assert opened(reencoded(source)[1]).tobytes() == opened(source).tobytes()

    @pytest.mark.parametrize(
        "content", [b"", b"words", b"<svg/>", b"BM" + bytes(60), b"\0\0\0\x20ftypheic" + bytes(60)]
    )
    def test_unsupported_format_is_refused(self, content: bytes) -> None:
        assert error_code(content) is ImageErrorCode.UNSUPPORTED

    @pytest.mark.parametrize("name", FORMATS)
    def test_truncated_image_is_damaged(self, name: str) -> None:
        assert error_code(picture(name, 64, 48)[:70]) is ImageErrorCode.BROKEN


class TestMetadata:
    @pytest.mark.parametrize("name", ["PNG", "JPEG", "WEBP", "AVIF"])
    def test_camera_metadata_is_removed(self, name: str) -> None:
        exif = Image.Exif()
        exif[0x010E] = MARK.decode()
        source = picture(name, exif=exif.tobytes())
        assert MARK in source
        content = reencoded(source)[1]
        assert MARK not in content
        assert not opened(content).getexif()

    @pytest.mark.parametrize("name", ["JPEG", "GIF"])
    def test_comments_are_removed(self, name: str) -> None:
        source = picture(name, comment=MARK)
        assert MARK in source
        assert MARK not in reencoded(source)[1]

    @pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP"])
    def test_orientation_is_applied(self, name: str) -> None:
        exif = Image.Exif()
        exif[0x0112] = 6
        told, content = reencoded(picture(name, 40, 30, exif=exif.tobytes()))
        assert (told.width, told.height) == opened(content).size == (30, 40)

    def test_colour_profile_is_converted_to_srgb(self) -> None:
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        profile = profile.replace("sRGB".encode("utf-16-be"), "swap".encode("utf-16-be"))
        profile = profile.replace(b"rXYZ", b"temp").replace(b"gXYZ", b"rXYZ").replace(b"temp", b"gXYZ")
        source = picture("PNG", icc_profile=profile)
        after = opened(reencoded(source)[1])
        assert "icc_profile" not in after.info
        assert opened(source).getpixel((1, 1)) == (200, 30, 30)
        red, green, _ = after.getpixel((1, 1))  # type: ignore[misc]
        assert green > 150 > red

    def test_text_in_a_palette_is_removed(self) -> None:
        image = Image.new("P", (16, 1))
        image.putdata(range(16))
        image.putpalette(b"<script>alert(document.domain)//".ljust(48, b"!"))
        for name in ("PNG", "GIF"):
            out = io.BytesIO()
            image.save(out, name, optimize=False)
            content = reencoded(out.getvalue())[1]
            assert b"script" not in content
            assert opened(content).convert("RGB").tobytes() == image.convert("RGB").tobytes()


class TestAnimations:
    @pytest.mark.parametrize("name", ANIMATED)
    def test_animation_keeps_frames_times_and_repetition(self, name: str) -> None:
        told, content = reencoded(animation(name, 5))
        after = Image.open(io.BytesIO(content))
        shown = []
        for frame in ImageSequence.Iterator(after):
            frame.load()
            shown.append(frame.info["duration"])
        assert told.frames == len(shown) == 5
        assert shown == pytest.approx([70] * 5, abs=6)
        assert name == "AVIF" or after.info["loop"] == 0

    @pytest.mark.parametrize("name", ANIMATED)
    def test_animation_keeps_the_pixels_of_frames(self, name: str) -> None:
        source = animation(name, 4)
        before, after = Image.open(io.BytesIO(source)), Image.open(io.BytesIO(reencoded(source)[1]))
        for number in range(4):
            before.seek(number)
            after.seek(number)
            assert _distance(before.convert("RGB"), after.convert("RGB")) < 40

    @pytest.mark.parametrize("name", ANIMATED)
    def test_animation_with_more_than_100_frames_is_refused(self, name: str) -> None:
        assert reencoded(animation(name, 100))[0].frames == 100
        assert error_code(animation(name, 101)) is ImageErrorCode.TOO_LARGE

    @pytest.mark.parametrize("name", ANIMATED)
    def test_animation_with_too_many_pixels_is_refused(self, name: str) -> None:
        bounds = ImageBounds(side_px=100, area_px=10_000, frames=10, animation_px=16 * 12 * 3)
        assert reencoded(animation(name, 3), bounds=bounds)[0].frames == 3
        assert error_code(animation(name, 4), bounds) is ImageErrorCode.TOO_LARGE

    def test_animation_keeps_transparency(self) -> None:
        frames = [Image.new("RGBA", (8, 8), (255, 0, 0, 255)) for _ in range(3)]
        for number, frame in enumerate(frames):
            frame.paste((0, 0, 0, 0), (0, 0, 2 + number, 8))
        out = io.BytesIO()
        frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=50, disposal=2)
        after = Image.open(io.BytesIO(reencoded(out.getvalue())[1]))
        for number in range(3):
            after.seek(number)
            alpha = list(after.convert("RGBA").getchannel("A").crop((0, 0, 8, 1)).tobytes())
            assert alpha == [0] * (2 + number) + [255] * (6 - number)


class TestBounds:
    @pytest.mark.parametrize(("width", "height"), [(101, 1), (1, 101), (90, 90)])
    def test_image_above_the_size_limits_is_refused(self, width: int, height: int) -> None:
        bounds = ImageBounds(side_px=100, area_px=8_000, frames=1, animation_px=8_000)
        assert reencoded(picture("PNG", 100, 80), bounds=bounds)[0].width == 100
        assert error_code(picture("PNG", width, height), bounds) is ImageErrorCode.TOO_LARGE

    def test_large_image_is_refused_before_decoding(self) -> None:
        header = picture("PNG", 7000, 6000, mode="L")[:100]
        assert error_code(header) is ImageErrorCode.TOO_LARGE


class TestWidth:
    @pytest.mark.parametrize("name", FORMATS)
    def test_smaller_width_keeps_the_proportions(self, name: str) -> None:
        told, content = reencoded(picture(name, 40, 30), width=20)
        assert (told.width, told.height) == opened(content).size == (20, 15)

    @pytest.mark.parametrize("name", FORMATS)
    def test_thumbnail_is_the_first_frame_as_webp(self, name: str) -> None:
        content = animation(name, 3, 400, 300) if name in ANIMATED else picture(name, 400, 300)
        out = io.BytesIO()
        info = remake(io.BytesIO(content), out, BOUNDS, width=96, is_thumbnail=True)
        small = opened(out.getvalue())
        assert info == ImageInfo("image/webp", "webp", 96, 72, 1)
        assert (small.format, small.size, getattr(small, "n_frames", 1)) == ("WEBP", (96, 72), 1)

    def test_thumbnail_of_a_turned_photo_is_upright_and_within_the_bounds(self) -> None:
        exif = Image.Exif()
        exif[reencode.ORIENTATION] = 6
        photo, out = picture("JPEG", 1600, 1200, exif=exif), io.BytesIO()
        info = remake(io.BytesIO(photo), out, BOUNDS, width=96, is_thumbnail=True)
        assert (info.width, info.height) == (96, 128)
        with pytest.raises(ImageError):
            remake(io.BytesIO(photo), out, ImageBounds(1000, 10**6, 1, 10**6), width=96, is_thumbnail=True)

    def test_larger_width_is_ignored(self) -> None:
        assert reencoded(picture("PNG", 40, 30), width=80)[0].width == 40

    def test_width_applies_to_every_frame(self) -> None:
        told, content = reencoded(animation("GIF", 4, 40, 30), width=10)
        assert (told.width, told.height, told.frames) == (10, 8, 4)
        assert {frame.size for frame in ImageSequence.Iterator(Image.open(io.BytesIO(content)))} == {(10, 8)}


def _distance(one: Image.Image, other: Image.Image) -> float:
    """Return the mean difference of the colours."""
    pairs = zip(one.tobytes(), other.tobytes(), strict=True)
    return sum(abs(a - b) for a, b in pairs) / (one.width * one.height * 3)
