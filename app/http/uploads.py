"""Multipart forms with one file, read as they arrive: the file to a temporary file, the fields to memory.

The module checks size, type and syntax. It knows neither image formats nor the meaning of the fields.
"""

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from flask import Request, Response, after_this_request
from gunicorn.http.errors import NoMoreData
from marshmallow import ValidationError, fields
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.sansio.multipart import Data, Epilogue, Event, Field, File, MultipartDecoder, NeedData

from app.concurrency.threadpool import switch, time_limit
from app.core.errors import InvalidRequest, PayloadTooLarge, ServiceUnavailable, UnsupportedMediaType
from app.core.limits import InputLimits
from app.http.body import RAW, RequestTimeout, check_coding

CHUNK_BYTES = 32 * 1024
FIELD_BYTES = 4096
OVERHEAD_BYTES = 64 * 1024
"""The maximum size of boundaries, part headers and text fields."""


@dataclass
class Upload:
    """A complete uploaded file in an unnamed temporary file. The end of the request deletes it."""

    file: BinaryIO
    size: int = 0


class FileField(fields.Field[Upload]):
    """The field of a form that contains the file."""

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> Upload:
        if not isinstance(value, Upload):
            raise ValidationError("Send a file.")
        return value


def read_form(request: Request, limits: InputLimits, *, admit: Callable[[int], None]) -> dict[str, object]:
    """Return the fields of the form by name: text, and an `Upload` for a file.

    For `Idempotency-Key`, the content of the parts identifies the request. The boundary does not count.

    Raises:
        UnsupportedMediaType: the body is not `multipart/form-data`, or it is compressed.
        PayloadTooLarge: the declared or received bytes, files or fields exceed the limits.
        InvalidRequest: the form is incomplete or malformed, a name is repeated, or text is not UTF-8.
        ServiceUnavailable: the disk for temporary files is full.
    """
    if request.mimetype != "multipart/form-data":
        raise UnsupportedMediaType("Send multipart/form-data")
    check_coding(request)
    most = limits.multipart_bytes + OVERHEAD_BYTES
    if (request.content_length or 0) > most:
        raise PayloadTooLarge(f"A file can have at most {limits.multipart_bytes} bytes")
    admit(request.content_length or 0)
    form = _Form(limits)
    after_this_request(form.close)
    decode_multipart(request, form.take, max_bytes=most, admit=admit)
    request.environ[RAW] = form.digest.digest()
    return form.values


def decode_multipart(
    request: Request, take: Callable[[Event], None], *, max_bytes: int, admit: Callable[[int], None]
) -> None:
    """Pass the parts of a body to `take` as they arrive.

    Raises:
        PayloadTooLarge: the body has more than `max_bytes`, or the headers of its parts are too large.
        InvalidRequest: the body is incomplete or malformed.
        ServiceUnavailable: the disk for temporary files is full.
    """
    boundary = request.mimetype_params.get("boundary", "")
    if not 1 <= len(boundary) <= 200 or not boundary.isascii():
        raise _malformed()
    decoder = MultipartDecoder(boundary.encode(), max_form_memory_size=3 * CHUNK_BYTES)
    try:
        with time_limit(InputLimits.body_timeout_s, RequestTimeout()):
            _feed(decoder, take, request, max_bytes, admit)
    except RequestEntityTooLarge as error:
        raise PayloadTooLarge("A part of the form is too large") from error
    except NoMoreData as error:  # a subclass of OSError, but an error of the client
        raise _malformed() from error
    except OSError as error:
        raise ServiceUnavailable("The disk for uploads is full. Try again later", retry_after_s=30) from error
    except ValueError as error:
        raise _malformed() from error


def _feed(
    decoder: MultipartDecoder, take: Callable[[Event], None], request: Request, most: int, admit: Callable[[int], None]
) -> None:
    received = head_bytes = 0
    while True:
        event = decoder.next_event()
        if isinstance(event, Epilogue):
            return
        if isinstance(event, Field | File):
            head_bytes += sum(len(name) + len(value) for name, value in event.headers)
            if head_bytes > InputLimits.part_heads_bytes:
                raise PayloadTooLarge("The headers of the parts are too large")
        if not isinstance(event, NeedData):
            take(event)
            continue
        piece = request.stream.read(CHUNK_BYTES)
        received += len(piece)
        if received > most:
            raise PayloadTooLarge(f"The form can have at most {most} bytes")
        admit(received)
        decoder.receive_data(piece or None)
        switch()


class _Form:
    """The parts that have been received."""

    def __init__(self, limits: InputLimits) -> None:
        self.limits = limits
        self.values: dict[str, object] = {}
        self.digest = hashlib.sha256()
        self._fields = 0
        self._uploads: list[Upload] = []
        self._name = ""
        self._text = b""
        self._upload: Upload | None = None

    def take(self, event: object) -> None:
        """Process an event of the decoder: the start of a part, or a piece of its content."""
        match event:
            case File(name=name):
                self._uploads.append(Upload(tempfile.TemporaryFile()))  # noqa: SIM115 (closed with the request)
                self._begin(name, self._uploads[-1])
            case Field(name=name):
                self._fields += 1
                self._begin(name, None)
            case Data(data=data, more_data=more):
                self._add(bytes(data), last=not more)

    def close(self, response: Response) -> Response:
        """Close the temporary files."""
        for upload in self._uploads:
            upload.file.close()
        return response

    def _begin(self, name: str | None, upload: Upload | None) -> None:
        if len(self._uploads) > self.limits.multipart_files or self._fields > self.limits.multipart_fields:
            raise PayloadTooLarge(
                f"A form can have at most {self.limits.multipart_files} file and {self.limits.multipart_fields} fields",
                code="TOO_MANY_PARTS",
            )
        if not name or name in self.values:
            raise InvalidRequest("Every field of a form must have a unique name", code="INVALID_FORM")
        self._name, self._upload, self._text = name, upload, b""
        self.digest.update(repr((name, upload is None)).encode())

    def _add(self, data: bytes, *, last: bool) -> None:
        self.digest.update(data)
        if self._upload is None:
            self._text += data
            if len(self._text) > FIELD_BYTES:
                raise PayloadTooLarge(f"A field can have at most {FIELD_BYTES} bytes")
        else:
            self._upload.size += len(data)
            if self._upload.size > self.limits.multipart_bytes:
                raise PayloadTooLarge(f"A file can have at most {self.limits.multipart_bytes} bytes")
            self._upload.file.write(data)
        if last:
            self.values[self._name] = self._text.decode() if self._upload is None else self._upload


def _malformed() -> InvalidRequest:
    return InvalidRequest("The body is not a complete multipart form", code="INVALID_FORM")
