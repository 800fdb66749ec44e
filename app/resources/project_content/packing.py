"""The files of a tree as the end of an answer, compressed; any beginning can be put before it without unpacking.

Packed: a raw deflate stream, then what a gzip trailer needs of it and a check of the packed bytes. So the state of an
index may change, or two branches be at one tree, and the large part stays as it is.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

LEVEL = 6
END = b"]}}"
_ADDRESS_BYTES = 20
_FACTS = struct.Struct("<IQI")
"""CRC-32 and length of the plain bytes, CRC-32 of the deflate stream."""

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_POLYNOMIAL, _ONE = 0xEDB88320, 1 << 31


@dataclass(frozen=True)
class Packed:
    """A packed list of files, and the address that any equal list has."""

    address: str
    data: bytes


def pack(files: Iterable[dict[str, Any]]) -> Packed:
    """Compress entry by entry, so that it needs little memory."""
    packer, digest = (
        zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS),
        hashlib.blake2b(digest_size=_ADDRESS_BYTES),
    )
    parts, crc, length = [], 0, 0
    for piece in _pieces(files):
        digest.update(piece)
        crc, length = zlib.crc32(piece, crc), length + len(piece)
        parts.append(packer.compress(piece))
    deflated = b"".join([*parts, packer.flush()])
    return Packed(digest.hexdigest(), deflated + _FACTS.pack(crc, length, zlib.crc32(deflated)))


def _pieces(files: Iterable[dict[str, Any]]) -> Iterable[bytes]:
    separator = b""
    for file in files:
        yield separator + orjson.dumps(file)
        separator = b","
    yield END


def is_sound(data: bytes) -> bool:
    """Whether the bytes are what was packed, whole."""
    if len(data) <= _FACTS.size:
        return False
    _, _, expected = _FACTS.unpack(data[-_FACTS.size :])
    return bool(zlib.crc32(memoryview(data)[: -_FACTS.size]) == expected)


def gzipped(start: bytes, data: bytes) -> bytes:
    """The whole answer as one gzip member: `start`, then the packed files."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    head = packer.compress(start) + packer.flush(zlib.Z_SYNC_FLUSH)
    crc, length, _ = _FACTS.unpack(data[-_FACTS.size :])
    whole_crc = _joined(zlib.crc32(start), crc, length)
    trailer = struct.pack("<II", whole_crc, (len(start) + length) & 0xFFFFFFFF)
    return b"".join((_GZIP_HEADER, head, memoryview(data)[: -_FACTS.size], trailer))


def plain(start: bytes, data: bytes) -> bytes:
    """The whole answer."""
    return start + zlib.decompress(memoryview(data)[: -_FACTS.size], -zlib.MAX_WBITS)


def _joined(first: int, second: int, length: int) -> int:
    """The CRC-32 of two byte strings one after the other, from theirs and the second's length.

    The first is shifted by as many zero bytes: a multiplication by x to the power of 8 × length modulo the polynomial.
    """
    power, factor, bits = _ONE, _ONE >> 1, 8 * length
    while bits:
        if bits & 1:
            power = _product(power, factor)
        factor, bits = _product(factor, factor), bits >> 1
    return _product(power, first) ^ second


def _product(a: int, b: int) -> int:
    """Two polynomials over GF(2) multiplied modulo CRC-32's; the highest bit is the coefficient of x to the power of 0."""
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = a << 1 & 0xFFFFFFFF
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product
