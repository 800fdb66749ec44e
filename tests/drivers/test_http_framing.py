"""Where a body ends, however its bytes are cut on the way."""

import pytest

from app.drivers.errors import Broken
from app.drivers.http_framing import LINE_BYTES, Chunked, Counted, Framing

BODY = b"data: a\n\n" + b"data: " + b"b" * 300 + b"\r\n\r\n"
PARTS = (BODY[:9], BODY[9:40], BODY[40:])


def chunked(*parts: bytes, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    return b"".join(b"%X%s\r\n%s\r\n" % (len(part), extension, part) for part in parts) + b"0\r\n" + trailer + b"\r\n"


def taken(framing: Framing, data: bytes, piece: int) -> bytes:
    return b"".join(framing.take(data[at : at + piece]) for at in range(0, len(data), piece))


class TestChunked:
    @pytest.mark.parametrize("piece", [1, 2, 3, 7, 64, 10_000])
    @pytest.mark.parametrize(
        "wire",
        [
            chunked(*PARTS),
            chunked(*PARTS, extension=b';a="b"'),
            chunked(*PARTS, extension=b"  "),
            chunked(*PARTS, trailer=b"X-A: b\r\nX-C: d\r\n"),
            chunked(*PARTS).replace(b"9\r\n", b"09\n", 1),
        ],
    )
    def test_body_is_the_same_however_it_is_cut(self, wire: bytes, piece: int) -> None:
        framing = Chunked()
        assert taken(framing, wire, piece) == BODY
        assert (framing.over, framing.spare) == (True, False)

    @pytest.mark.parametrize("left", [1, 2, 3, 5, 8])
    def test_end_that_is_not_whole_is_no_end(self, left: int) -> None:
        framing = Chunked()
        framing.take(chunked(*PARTS)[:-left])
        assert not framing.over
        assert not framing.at_end()

    def test_what_comes_after_the_end_is_spare(self) -> None:
        framing = Chunked()
        assert framing.take(chunked(b"a") + b"HTTP/1.1 200 OK") == b"a"
        assert (framing.over, framing.spare) == (True, True)

    @pytest.mark.parametrize(
        "wire",
        [b"x\r\na", b"-1\r\na", b"0x1\r\na\r\n", b"1_0\r\n", b"\r\n", b"2\r\nabc\r\n", b"1" * 16 + b"\r\n", b"1 1\r\n"],
    )
    @pytest.mark.parametrize("piece", [1, 100])
    def test_what_is_no_framing_is_told(self, wire: bytes, piece: int) -> None:
        with pytest.raises(Broken):
            taken(Chunked(), wire, piece)

    @pytest.mark.parametrize("opening", [b"1;", b"0\r\nX-A: "])
    def test_line_without_an_end_is_given_up(self, opening: bytes) -> None:
        with pytest.raises(Broken):
            taken(Chunked(), opening + b"a" * (LINE_BYTES + 100), 1000)


class TestCounted:
    def test_body_ends_with_its_count(self) -> None:
        framing = Counted(5)
        assert framing.take(b"abc") == b"abc"
        assert not framing.over
        assert framing.take(b"defgh") == b"de"
        assert (framing.over, framing.spare, framing.at_end()) == (True, True, False)

    def test_empty_body_is_over_before_it_begins(self) -> None:
        assert Counted(0).over

    def test_body_of_no_count_ends_with_the_connection(self) -> None:
        framing = Counted(None)
        assert framing.take(b"abc") == b"abc"
        assert (framing.over, framing.at_end()) == (False, True)
