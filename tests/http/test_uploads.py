"""Tests of the parser of multipart forms."""

import io
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask, request
from flask.ctx import RequestContext
from gunicorn.http.errors import NoMoreData

from app.core.errors import AppError, InvalidRequest, PayloadTooLarge, ServiceUnavailable, UnsupportedMediaType
from app.core.limits import MIB, InputLimits
from app.http.body import RAW
from app.http.uploads import FIELD_BYTES, OVERHEAD_BYTES, Upload, read_form
from tests.support.full_disk import files_of_at_most

LIMITS = InputLimits()
PLAIN = Flask(__name__)


def part(name: str, content: bytes, *, filename: str | None = None) -> bytes:
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"'
    head += "" if filename is None else f'; filename="{filename}"\r\nContent-Type: image/png'
    return head.encode() + b"\r\n\r\n" + content + b"\r\n"


def sending(stream: Any, length: int | None, content_type: str) -> RequestContext:
    """Return the context of a request with this body. A length of None means a chunked body."""
    values = {"wsgi.input_terminated": True} if length is None else {"CONTENT_LENGTH": str(length)}
    environ = {"wsgi.input": stream, "CONTENT_TYPE": content_type, **values}
    return PLAIN.test_request_context("/", method="POST", environ_overrides=environ)


class Read:
    """The values and files of a body, which are read before the request ends."""

    def __init__(
        self,
        body: bytes,
        content_type: str = "multipart/form-data; boundary=b",
        *,
        stream: Any = None,
        has_length: bool = True,
    ) -> None:
        with sending(stream or io.BytesIO(body), len(body) if has_length else None, content_type):
            self.values: dict[str, Any] = {}
            self.files: dict[str, bytes] = {}
            response = PLAIN.response_class()
            try:
                self.values = read_form(request._get_current_object(), LIMITS, admit=lambda _size: None)  # type: ignore[attr-defined]
                self.mark = request.environ[RAW]
                for name, value in self.values.items():
                    if isinstance(value, Upload):
                        value.file.seek(0)
                        self.files[name] = value.file.read()
                        assert value.size == len(self.files[name])
            finally:
                PLAIN.process_response(response)


def refused(body: bytes, error: type[AppError], **more: Any) -> AppError:
    with pytest.raises(error) as raised:
        Read(body, **more)
    return raised.value


class TestReadForm:
    def test_form_has_text_fields_and_files(self) -> None:
        form = Read(part("folder", "größe".encode()) + part("file", b"\x89PNG", filename="a.png") + b"--b--\r\n")
        assert form.values["folder"] == "größe"
        assert form.files == {"file": b"\x89PNG"}

    @pytest.mark.parametrize(
        "content", [b"", b"\r\n", b"\r\n\r\n", b"x--b", b"\r\n--", b"-" * 100, bytes(range(256)) * 1000]
    )
    def test_file_equals_the_sent_bytes(self, content: bytes) -> None:
        assert Read(part("file", content, filename="") + b"--b--\r\n").files == {"file": content}

    def test_form_without_the_last_line_break_is_accepted(self) -> None:
        assert Read(part("a", b"1") + b"--b--").values == {"a": "1"}

    def test_form_without_fields_is_empty(self) -> None:
        assert Read(b"--b--\r\n").values == {}

    @pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded", "image/png", ""])
    def test_form_of_another_type_receives_415(self, kind: str) -> None:
        refused(b"x", UnsupportedMediaType, content_type=kind)

    @pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=" + "b" * 300])
    def test_form_without_a_valid_boundary_raises_invalid_form(self, kind: str) -> None:
        assert refused(b"--b--\r\n", InvalidRequest, content_type=kind).code == "INVALID_FORM"

    @pytest.mark.parametrize(
        "body",
        [
            b"", b"words", part("a", b"1"), part("file", b"1" * 500_000, filename="a"), b"--b\r\n", b"--c--\r\n",
            b'--b\r\nContent-Disposition: form-data; name="a"', b"--b\r\nno header\r\n\r\nx\r\n--b--\r\n",
            part("", b"1") + b"--b--\r\n", part("a", b"1") + part("a", b"2") + b"--b--\r\n",
            part("a", b"\xff\xfe") + b"--b--\r\n",
        ],
    )  # fmt: skip
    def test_incomplete_form_receives_400(self, body: bytes) -> None:
        refused(body, InvalidRequest)

    def test_form_above_one_file_and_ten_fields_raises_too_many_parts(self) -> None:
        fields = b"".join(part(f"f{number}", b"x") for number in range(10))
        assert len(Read(fields + part("file", b"x", filename="a") + b"--b--\r\n").values) == 11
        assert refused(fields + part("f10", b"x") + b"--b--\r\n", PayloadTooLarge).code == "TOO_MANY_PARTS"
        two = part("file", b"x", filename="a") + part("more", b"x", filename="a")
        assert refused(two + b"--b--\r\n", PayloadTooLarge).code == "TOO_MANY_PARTS"

    def test_file_above_ten_mebibytes_raises_payload_too_large(self) -> None:
        assert len(Read(part("file", bytes(10 * MIB), filename="a") + b"--b--\r\n").files["file"]) == 10 * MIB
        refused(part("file", bytes(10 * MIB + 1), filename="a") + b"--b--\r\n", PayloadTooLarge)

    def test_content_length_above_the_limit_is_refused_unread(self) -> None:
        stream = io.BytesIO(bytes(100))
        body = bytes(10 * MIB + OVERHEAD_BYTES + 1)
        refused(body, PayloadTooLarge, stream=stream)
        assert stream.tell() == 0

    def test_body_without_a_length_is_refused_at_the_limit(self) -> None:
        stream = _Endless()
        refused(b"", PayloadTooLarge, stream=stream, has_length=False)
        assert stream.given < 11 * MIB

    def test_long_field_receives_413(self) -> None:
        assert Read(part("a", b"x" * FIELD_BYTES) + b"--b--\r\n").values["a"] == "x" * FIELD_BYTES
        refused(part("a", b"x" * (FIELD_BYTES + 1)) + b"--b--\r\n", PayloadTooLarge)

    def test_endless_part_headers_receive_413(self) -> None:
        refused(b"--b\r\nX: " + b"x" * 2_000_000, PayloadTooLarge)

    def test_form_digest_does_not_depend_on_the_boundary(self) -> None:
        body = part("folder", b"users") + part("file", b"x" * 99, filename="a") + b"--b--\r\n"
        same = Read(body.replace(b"--b", b"--other"), content_type="multipart/form-data; boundary=other").mark
        assert Read(body).mark == same
        assert Read(body.replace(b"users", b"sites")).mark != same
        assert Read(body.replace(b"xx\r\n--b", b"xy\r\n--b")).mark != same

    def test_large_file_is_read_with_little_memory(self) -> None:
        stream = _Chained([part("file", b"", filename="a")[:-2], *[bytes(MIB)] * 9, b"\r\n--b--\r\n"])
        tracemalloc.start()
        try:
            with sending(stream, stream.size, "multipart/form-data; boundary=b"):
                read_form(request._get_current_object(), LIMITS, admit=lambda _size: None)  # type: ignore[attr-defined]
                peak = tracemalloc.get_traced_memory()[1]
                PLAIN.process_response(PLAIN.response_class())
        finally:
            tracemalloc.stop()
        assert peak < 2 * MIB

    def test_full_disk_receives_503(self) -> None:
        with files_of_at_most(100_000):
            refused(part("file", bytes(500_000), filename="a") + b"--b--\r\n", ServiceUnavailable)

    def test_truncated_chunks_receive_400(self) -> None:
        refused(b"", InvalidRequest, stream=_Cut(), has_length=False)

    def test_temporary_files_are_closed_with_the_request(self) -> None:
        form = Read(part("file", b"x", filename="a") + b"--b--\r\n")
        assert form.values["file"].file.closed


class _Endless(io.RawIOBase):
    """A form with an endless file."""

    given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = part("file", b"", filename="a")[:-2] if not self.given else b"x" * 65_536
        size = min(len(buffer), len(content))
        buffer[:size] = content[:size]
        self.given += size
        return size


class _Cut(io.RawIOBase):
    """A chunked body of a disconnected client. It raises the exception of gunicorn."""

    def readable(self) -> bool:
        return True

    def readinto(self, _buffer: Any) -> int:
        raise NoMoreData


class _Chained(io.RawIOBase):
    """A stream of several pieces that are not joined."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.size = sum(map(len, pieces))
        self.pieces: Iterator[bytes] = iter(pieces)
        self.rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.rest:
            self.rest = memoryview(next(self.pieces, b""))
        size = min(len(buffer), len(self.rest))
        buffer[:size] = self.rest[:size]
        self.rest = self.rest[size:]
        return size
