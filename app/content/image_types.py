"""Recognition of images by the ending of their name and their first bytes. Nothing is decoded."""

from app.content.filetypes import file_type

HEAD_BYTES = 1024
"""The bytes of a file that are compared."""

_STARTS = (
    *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM"),
    *(b"II*\0", b"MM\0*", b"\0\0\1\0"),  # TIFF in both byte orders, and icons
)


def is_image(path: str) -> bool:
    """Return whether a file is an image by its ending."""
    return (file_type(path).mime or "").startswith("image/")


def is_image_content(path: str, head: bytes) -> bool:
    """Return whether the first bytes of a file are those of an image.

    Browsers show an image of another raster format than that of its ending, so any raster format is accepted.
    """
    if file_type(path).mime == "image/svg+xml":
        return b"<svg" in head[:HEAD_BYTES].lower()
    is_webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    return is_webp or head[4:8] == b"ftyp" or head.startswith(_STARTS)
