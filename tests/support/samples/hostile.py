"""A hundred and fifty hostile files for uploads, with the same bytes in every run.

Each is named after its kind. An accepted file must be stored without `MARKS`.
"""

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image

from tests.support.samples.pictures import MARK, SCRIPT, animation, picture

PHP, JS = b"<?php system($_GET['c']); ?>", b"*/=1;alert(document.cookie);/*"
MARKS = (MARK, b"<script", b"<?php", b"alert(", b"PK\x03\x04", b"%PDF", b"<svg", b"MZ\x90", b"\x7fELF")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'
STILLS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF")
TRAILERS = {"html": SCRIPT, "php": PHP, "pdf": b"%PDF-1.7\n", "svg": SVG, "js": JS}


@dataclass(frozen=True)
class Hostile:
    """A file. `taken` is False if the service must refuse it."""

    name: str
    content: bytes
    taken: bool = True


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, rows: bytes, *chunks: bytes, colour: int = 2, depth: int = 8) -> bytes:
    """Return a PNG with this header and arbitrary rows."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + b"".join(chunks)
        + png_chunk(b"IDAT", zlib.compress(rows))
        + png_chunk(b"IEND", b"")
    )


def wrong_types() -> Iterator[Hostile]:
    """Return files of other types, and files that resemble other types."""
    contents = {
        "empty": b"", "one-byte": b"\x89", "text": b"words", "html": SCRIPT, "html-with-bom": b"\xef\xbb\xbf" + SCRIPT,
        "svg": SVG, "svg-with-declaration": b'<?xml version="1.0"?>' + SVG, "svg-after-space": b" \n" + SVG,
        "svg-entities": b'<!DOCTYPE a [<!ENTITY b "' + b"c" * 99 + b'">]><svg>' + b"&b;" * 999 + b"</svg>",
        "svg-gzip": b"\x1f\x8b\x08" + bytes(40), "pdf": b"%PDF-1.7\n1 0 obj", "zip": _zip(), "elf": b"\x7fELF" + bytes(60),
        "exe": b"MZ\x90" + bytes(60), "bmp": _pillow("BMP"), "tiff": _pillow("TIFF"), "ico": _pillow("ICO"),
        "pcx": _pillow("PCX"), "ppm": _pillow("PPM"), "tga": _pillow("TGA"), "sgi": _pillow("SGI"),
        "jpeg2000": _pillow("JPEG2000"), "icns": _pillow("ICNS"), "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        "psd": b"8BPS\0\1" + bytes(60), "heic": _ftyp(b"heic", b"mif1"), "mp4": _ftyp(b"isom", b"avc1"), "flv": b"FLV\1" + bytes(60),
        "wav": b"RIFF\x24\0\0\0WAVEfmt ", "wasm": b"\0asm\1\0\0\0", "mpo-marker": b"\xff\xd9\xff\xd8", "php": PHP,
        "gif-upper": b"gif89a" + bytes(40), "png-crlf-lost": b"\x89PNG\n\x1a\n" + bytes(40), "jpeg-reversed": b"\xd8\xff\xff\xe0",
    }  # fmt: skip
    for name, content in contents.items():
        yield Hostile(f"wrong type: {name}", content, taken=False)


def trailers() -> Iterator[Hostile]:
    """Return images with another file after their end."""
    for name in STILLS:
        for kind, trailer in TRAILERS.items():
            yield Hostile(f"trailer: {kind} behind {name}", picture(name) + trailer)
        yield Hostile(f"trailer: zip behind {name}", picture(name) + _zip())


def metadata() -> Iterator[Hostile]:
    """Return images with text outside of the pixels."""
    exif = Image.Exif()
    exif[0x010E] = (SCRIPT + MARK).decode()
    for name in STILLS:
        if name != "GIF":
            yield Hostile(f"metadata: Exif in {name}", picture(name, exif=exif.tobytes()))
    for name in ("JPEG", "WEBP", "AVIF"):
        yield Hostile(f"metadata: XMP in {name}", picture(name, xmp=SCRIPT + MARK))
    for name in ("PNG", "JPEG", "WEBP", "AVIF"):
        yield Hostile(f"metadata: colour profile in {name}", picture(name, icc_profile=SCRIPT + MARK + bytes(200)))
    yield Hostile("metadata: comment in JPEG", picture("JPEG", comment=SCRIPT + JS + MARK))
    yield Hostile("metadata: comment in GIF", picture("GIF", comment=SCRIPT + JS + MARK))
    for kind, body in {"tEXt": b"Comment\0" + SCRIPT + MARK, "zTXt": b"Comment\0\0" + zlib.compress(PHP + MARK),
                       "iTXt": b"XML:com.adobe.xmp\0\0\0\0\0" + SVG + MARK, "eXIf": b"II*\0" + MARK,
                       "prIV": SCRIPT}.items():  # fmt: skip
        yield Hostile(f"metadata: {kind} in PNG", png(2, 1, bytes(7), png_chunk(kind.encode(), body)))
    yield Hostile("metadata: script as palette", _palette())
    yield Hostile(
        "metadata: script between GIF frames",
        animation("GIF", 3)[:-1] + b"\x21\xfe\x1d" + (SCRIPT[:28] + b"\0") + b"\0;",
    )


def truncated() -> Iterator[Hostile]:
    """Return images that are truncated at different positions."""
    for name in STILLS:
        whole = picture(name, 64, 48)
        for share in (0.15, 0.4, 0.6, 0.85):
            yield Hostile(f"truncated: {name} at {share:.0%}", whole[: int(len(whole) * share)])


def flipped() -> Iterator[Hostile]:
    """Return images with random changes behind the signature."""
    chance = random.Random(20_260_101)
    for name in STILLS:
        whole = picture(name, 64, 48) if name != "GIF" else animation("GIF", 5)
        for number in range(5):
            changed = bytearray(whole)
            for _ in range(1 + 3 * number):
                changed[chance.randrange(16, len(changed))] = chance.randrange(256)
            yield Hostile(f"flipped: {name}, {1 + 3 * number} bytes", bytes(changed))


def bombs() -> Iterator[Hostile]:
    """Return small files that need much memory or time."""
    rows = bytes(1000)
    for width, height in ((30_000, 30_000), (8_193, 10), (10, 8_193), (8_000, 8_000), (2**31 - 1, 1), (0, 10)):
        yield Hostile(f"bomb: PNG of {width} x {height}", png(width, height, rows), taken=False)
    yield Hostile("bomb: PNG whose rows go on for 60 MB", png(10, 10, bytes(60_000_000)))
    yield Hostile(
        "bomb: PNG with 60 MB of compressed text",
        png(2, 1, bytes(7), png_chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(60_000_000)))),
    )
    yield Hostile(
        "bomb: PNG with 60 MB of colour profile",
        png(2, 1, bytes(7), png_chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(60_000_000)))),
    )
    yield Hostile(
        "bomb: PNG that tells of a million frames",
        png(2, 1, bytes(7), png_chunk(b"acTL", struct.pack(">II", 10**6, 0))),
        taken=False,
    )
    yield Hostile("bomb: JPEG of 65,535 x 65,535", _jpeg_header(65_535, 65_535), taken=False)
    yield Hostile("bomb: JPEG of 9,000 x 9,000", _jpeg_header(9_000, 9_000), taken=False)
    yield Hostile(
        "bomb: GIF of 65,535 x 65,535",
        b"GIF89a" + struct.pack("<HHBBB", 65_535, 65_535, 0x80, 0, 0) + bytes(6) + b";",
        taken=False,
    )
    yield Hostile("bomb: GIF whose second frame is larger than the picture", _growing_gif(), taken=False)
    yield Hostile(
        "bomb: WebP of 16,384 x 16,384",
        b"RIFF\x1e\0\0\0WEBPVP8L\x11\0\0\0\x2f" + struct.pack("<I", 0x0FFFFFFF) + bytes(12),
        taken=False,
    )
    yield Hostile("bomb: AVIF that tells of 60,000 x 60,000", _avif_of(60_000), taken=False)
    for name in ("GIF", "PNG", "WEBP", "AVIF"):
        yield Hostile(f"bomb: {name} of 101 frames", animation(name, 101), taken=False)
    yield Hostile("bomb: GIF of 100 frames of 81 MP in all", _repeated_frames(100, 900, 900), taken=False)
    yield Hostile("bomb: GIF of 50,000 frames", _many_frames(50_000), taken=False)


def _pillow(name: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (32, 32)).save(out, name)
    return out.getvalue()


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr(zipfile.ZipInfo("evil.class"), SCRIPT)
    return out.getvalue()


def _ftyp(*brands: bytes) -> bytes:
    body = b"ftyp" + brands[0] + bytes(4) + b"".join(brands)
    return struct.pack(">I", len(body) + 4) + body + bytes(60)


def _palette() -> bytes:
    image = Image.new("P", (4, 4))
    image.putpalette((SCRIPT + bytes(768))[:768])
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _jpeg_header(width: int, height: int) -> bytes:
    whole = bytearray(picture("JPEG"))
    frame = whole.index(b"\xff\xc0")
    whole[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(whole)


def _growing_gif() -> bytes:
    small = picture("GIF", 4, 4)
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 20_000, 20_000, 0) + b"\x02\x02\x44\x01\0"
    return small[:-1] + frame + b";"


def _repeated_frames(count: int, width: int, height: int) -> bytes:
    """Return an animation of two frames that Pillow writes, with the second one repeated."""
    whole = animation("GIF", 2, width, height)
    start = whole.rindex(b"\x21\xf9")
    return whole[:start] + whole[start:-1] * (count - 1) + b";"


def _many_frames(count: int) -> bytes:
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\0"
    return b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes(6) + frame * count + b";"


def _avif_of(side: int) -> bytes:
    whole = bytearray(picture("AVIF"))
    place = whole.index(b"ispe") + 8
    whole[place : place + 8] = struct.pack(">II", side, side)
    return bytes(whole)
