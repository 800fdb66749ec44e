"""A multipart form with a file, read as it comes in: the file into a temporary file, the fields into a few bytes.

Judges size, type and syntax only; knows neither pictures nor what the fields mean.
"""

import hashlib
import tempfile
from dataclasses import dataclass
from typing import Any, BinaryIO

from flask import Request, Response, after_this_request
from gunicorn.http.errors import NoMoreData
from marshmallow import ValidationError, fields
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from app.core.errors import Invalid, TooLarge, Unavailable, WrongMediaType
from app.core.limits import InputLimits
from app.core.threadpool import time_limit
from app.http.body import RAW, BodyLate, check_coding

CHUNK_BYTES = 64 * 1024
FIELD_BYTES = 4096
OVERHEAD_BYTES = 64 * 1024
"""What boundaries, part headers and text fields may have beside the file."""


@dataclass
class Upload:
    """A file that was sent, complete, in a temporary file without a name that goes at the end of the request."""

    file: BinaryIO
    size: int = 0


class UploadedFile(fields.Field[Upload]):
    """The part of a form that holds the file."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Upload:
        if not isinstance(value, Upload):
            raise ValidationError("Send a file.")
        return value


def read_form(request: Request, limits: InputLimits) -> dict[str, Any]:
    """The form's fields by name: text, and an `Upload` for what was sent as a file.

    What identifies the request for `Idempotency-Key` is the content of the parts, not the boundary between them.

    Raises:
        WrongMediaType: not `multipart/form-data`, or compressed.
        TooLarge: more bytes, files or fields than the limits, told or counted.
        Invalid: broken off, not a form, a name twice, or text that is not UTF-8.
        Unavailable: the disk for temporary files is full.
    """
    if request.mimetype != "multipart/form-data":
        raise WrongMediaType("Send multipart/form-data")
    check_coding(request)
    most = limits.multipart_bytes + OVERHEAD_BYTES
    if (request.content_length or 0) > most:
        raise TooLarge(f"A file may have at most {limits.multipart_bytes} bytes")
    boundary = request.mimetype_params.get("boundary", "")
    if not 1 <= len(boundary) <= 200 or not boundary.isascii():
        raise _broken()
    form = _Form(limits)
    after_this_request(form.close)
    decoder = MultipartDecoder(boundary.encode(), max_form_memory_size=4 * CHUNK_BYTES)
    try:
        with time_limit(limits.body_timeout_s, BodyLate()):
            _feed(decoder, form, request, most)
    except RequestEntityTooLarge as error:
        raise TooLarge("A part of the form is too large") from error
    except NoMoreData as error:  # an OSError too, but the sender's
        raise _broken() from error
    except OSError as error:
        raise Unavailable("There is no room for files right now; try again later", retry_after_s=30) from error
    except ValueError as error:
        raise _broken() from error
    request.environ[RAW] = form.digest.digest()
    return form.values


def _feed(decoder: MultipartDecoder, form: "_Form", request: Request, most: int) -> None:
    received = 0
    while True:
        event = decoder.next_event()
        if isinstance(event, Epilogue):
            return
        if not isinstance(event, NeedData):
            form.take(event)
            continue
        piece = request.stream.read(CHUNK_BYTES)
        received += len(piece)
        if received > most:
            raise TooLarge(f"The form may have at most {most} bytes")
        decoder.receive_data(piece or None)


class _Form:
    """The parts so far."""

    def __init__(self, limits: InputLimits) -> None:
        self.limits = limits
        self.values: dict[str, Any] = {}
        self.digest = hashlib.sha256()
        self._fields = 0
        self._uploads: list[Upload] = []
        self._name = ""
        self._text = b""
        self._upload: Upload | None = None

    def take(self, event: Any) -> None:
        """One event of the decoder: a part begins, or a piece of its content."""
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
        """Give the temporary files back."""
        for upload in self._uploads:
            upload.file.close()
        return response

    def _begin(self, name: str | None, upload: Upload | None) -> None:
        if len(self._uploads) > self.limits.multipart_files or self._fields > self.limits.multipart_fields:
            raise TooLarge(
                f"A form may have {self.limits.multipart_files} file and {self.limits.multipart_fields} fields",
                code="TOO_MANY_PARTS",
            )
        if not name or name in self.values:
            raise Invalid("Every field of a form needs a name of its own", code="INVALID_FORM")
        self._name, self._upload, self._text = name, upload, b""
        self.digest.update(repr((name, upload is None)).encode())

    def _add(self, data: bytes, *, last: bool) -> None:
        self.digest.update(data)
        if self._upload is None:
            self._text += data
            if len(self._text) > FIELD_BYTES:
                raise TooLarge(f"A field may have at most {FIELD_BYTES} bytes")
        else:
            self._upload.size += len(data)
            if self._upload.size > self.limits.multipart_bytes:
                raise TooLarge(f"A file may have at most {self.limits.multipart_bytes} bytes")
            self._upload.file.write(data)
        if last:
            self.values[self._name] = self._text.decode() if self._upload is None else self._upload


def _broken() -> Invalid:
    return Invalid("The body is not a complete multipart form", code="INVALID_FORM")
