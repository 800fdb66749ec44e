"""Compression of the files of a tree as the end of a response.

The start of the response is added without decompression.

A tree is packed in parts of consecutive files. The packed parts of a tree are joined without decompression, too. The
joined format is a raw deflate stream, then the values for a gzip trailer and a checksum of the packed bytes. A change
of the index state or a second branch with the same tree does not change the packed files.
"""

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import orjson

LEVEL = 6
END = b"]}}"
_SEPARATOR = b","
_FACTS = struct.Struct("<IQI")
"""CRC-32 and length of the plain bytes, CRC-32 of the deflate stream."""

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_POLYNOMIAL, _ONE = 0xEDB88320, 1 << 31


@dataclass(frozen=True)
class PackedPart:
    """A packed part with the CRC-32 and the length of its plain bytes."""

    data: bytes
    crc: int
    length: int


def pack(files: list[dict[str, object]]) -> PackedPart:
    """Compress at least one file as a part that ends at a byte boundary."""
    plain = orjson.dumps(files)[1:-1]
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return PackedPart(packer.compress(plain) + packer.flush(zlib.Z_SYNC_FLUSH), zlib.crc32(plain), len(plain))


def join(parts: Iterable[PackedPart]) -> bytes:
    """Return the packed files of a tree from its packed parts in order."""
    pieces, crc, length = [], 0, 0

    def add(data: bytes, plain_crc: int, plain_length: int) -> None:
        nonlocal crc, length
        pieces.append(data)
        crc, length = _joined(crc, plain_crc, plain_length), length + plain_length

    for part in parts:
        if pieces:
            add(_stored(_SEPARATOR), zlib.crc32(_SEPARATOR), len(_SEPARATOR))
        add(part.data, part.crc, part.length)
    add(_stored(END, is_last=True), zlib.crc32(END), len(END))
    deflated = b"".join(pieces)
    return deflated + _FACTS.pack(crc, length, zlib.crc32(deflated))


def _stored(plain: bytes, *, is_last: bool = False) -> bytes:
    """Return a deflate block without compression."""
    return struct.pack("<BHH", is_last, len(plain), len(plain) ^ 0xFFFF) + plain


def is_valid(data: bytes) -> bool:
    """Return whether the bytes are complete and unchanged."""
    if len(data) <= _FACTS.size:
        return False
    _, _, expected = _FACTS.unpack(data[-_FACTS.size :])
    return bool(zlib.crc32(memoryview(data)[: -_FACTS.size]) == expected)


def to_gzip(start: bytes, data: bytes) -> bytes:
    """Return the response as one gzip member: `start`, then the packed files."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    head = packer.compress(start) + packer.flush(zlib.Z_SYNC_FLUSH)
    crc, length, _ = _FACTS.unpack(data[-_FACTS.size :])
    whole_crc = _joined(zlib.crc32(start), crc, length)
    trailer = struct.pack("<II", whole_crc, (len(start) + length) & 0xFFFFFFFF)
    return b"".join((_GZIP_HEADER, head, memoryview(data)[: -_FACTS.size], trailer))


def plain(start: bytes, data: bytes) -> bytes:
    """Return the response without compression."""
    return start + zlib.decompress(memoryview(data)[: -_FACTS.size], -zlib.MAX_WBITS)


def _joined(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two concatenated byte strings from their checksums and the length of the second.

    The first is moved by that many zero bytes: a multiplication by x to the power of 8 × length modulo the polynomial.
    """
    moved, exponent = first, 0
    while length >> exponent:
        if length >> exponent & 1:
            moved = _product(_power(exponent), moved)
        exponent += 1
    return moved ^ second


@cache
def _power(exponent: int) -> int:
    """Return x to the power of 8 × 2 to the power of the exponent, modulo the polynomial of CRC-32."""
    if exponent == 0:
        return _ONE >> 8
    return _product(_power(exponent - 1), _power(exponent - 1))


def _product(a: int, b: int) -> int:
    """Multiply two polynomials over GF(2) modulo that of CRC-32.

    The highest bit is the coefficient of x to the power of 0.
    """
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = a << 1 & 0xFFFFFFFF
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product
