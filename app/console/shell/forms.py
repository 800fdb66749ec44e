"""Submitted forms: their reading within limits, their values, and the errors that a page shows at the fields."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from flask import Request, Response, after_this_request
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.sansio.multipart import Data, Event, Field, File

from app.console.shell.messages import translate
from app.console.shell.translation import gettext
from app.content.image_types import is_image
from app.content.slugs import file_name_of
from app.core.errors import AppError, ErrorMessage, FieldError, InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from app.core.limits import InputLimits
from app.http.body import check_coding
from app.http.uploads import decode_multipart
from app.http.urlencoded import read_urlencoded

TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
MAX_BYTES = 3 * InputLimits.multipart_bytes
"""The size of a form as it is sent. The encoding of a URL needs up to three bytes for each byte of a text."""

COPIES = 4
"""The copies of a text in memory while the editor's form is saved: decoded, merged, encoded and in Base64."""


def held_bytes(size_bytes: int) -> int:
    """Return the memory that a form of a size needs until the end of its request."""
    return size_bytes + COPIES * min(size_bytes, InputLimits.form_bytes)


@dataclass(frozen=True)
class IdentityMethods:
    """The methods with which a user can prove the identity. Without any, a new sign-in is needed."""

    has_password: bool
    has_passkey: bool
    has_app: bool


@dataclass
class Form:
    """A form as it was sent, and the error for which its page is shown again."""

    values: MultiDict[str, str] = field(default_factory=MultiDict)
    files: MultiDict[str, FileStorage] = field(default_factory=MultiDict)
    error: AppError | None = None
    identity: "IdentityMethods | None" = None
    """The methods of the dialog in which the user proves the identity, before the form goes on."""
    is_repeated: bool = False
    """A button of the form changed it, and its page is shown again."""
    names: dict[str, str] = field(default_factory=dict)
    """The names of the inputs by the paths of the fields in the errors of a service."""

    def text(self, name: str) -> str:
        """Return the value of a field, or an empty text."""
        return self.values.get(name, "")

    def texts(self, *names: str) -> dict[str, str]:
        """Return the values of fields by name, an empty text for a field that was not sent."""
        return {name: self.text(name) for name in names}

    def optional(self, name: str) -> str | None:
        """Return the value of a field, or None if it is empty."""
        return self.values.get(name) or None

    def all(self, name: str) -> Sequence[str]:
        """Return all values of a field, also those that a script sent as one JSON array, for the limit of fields."""
        try:
            joined = json.loads(self.text(f"{name}[]") or "[]")
        except (ValueError, RecursionError):
            joined = []
        more = (value for value in joined if isinstance(value, str)) if isinstance(joined, list) else ()
        # An escape of JSON can be half of a character, which no path has.
        return [
            *self.values.getlist(name),
            *(value for value in more if value == value.encode(errors="ignore").decode()),
        ]

    def image(self, name: str) -> tuple[str, FileStorage]:
        """Return an uploaded image, and its name as the name of a file.

        Raises:
            InvalidRequest: no image was chosen.
            UnsupportedMediaType: it has not the ending of an image.
        """
        return self.images(name)[0]

    def images(self, name: str) -> list[tuple[str, FileStorage]]:
        """Return uploaded images, at least one, with their names as names of files. Raises the errors of `image`."""
        files = [file for file in self.files.getlist(name) if file.filename]
        if not files:
            raise InvalidRequest.field(name, gettext("Choose an image."))
        return [(image_name(file, name), file) for file in files]

    def parsed(self, name: str) -> object:
        """Return the value of a field that contains JSON, or an empty object."""
        try:
            return json.loads(self.text(name))
        except (ValueError, RecursionError):
            return {}

    def is_checked(self, name: str) -> bool:
        return name in self.values

    def was_sent(self) -> bool:
        """Return whether the page is shown again with the values of the form."""
        return self.error is not None or self.is_repeated

    def value(self, name: str, default: object = "") -> object:
        """Return the value that an input shows: the sent one, else the default."""
        return self.values.get(name, "") if self.was_sent() else default

    def checked(self, name: str, default: object = False) -> bool:
        """Return whether a checkbox is shown as checked."""
        return name in self.values if self.was_sent() else bool(default)

    def errors(self, name: str) -> list[str]:
        """Return the messages for a field."""
        fields = self.error.fields if self.error is not None else ()
        return [translate(item.message) for item in fields if self.names.get(item.path, item.path) == name]


def image_name(file: FileStorage, field: str) -> str:
    """Return the name of an uploaded image as the name of a file. Raises UnsupportedMediaType for another ending."""
    name = file_name_of((file.filename or "").replace("\\", "/").rpartition("/")[2]) or "image"
    if not is_image(name):
        raise no_image(field)
    return name


def no_image(field: str) -> UnsupportedMediaType:
    """Return the error of a file that is not an image."""
    message = gettext("This is not an image.")
    return UnsupportedMediaType(message, fields=[FieldError(field, message)])


def read(
    request: Request,
    *,
    accepts: Callable[[str], bool],
    max_bytes: int,
    max_files: int = InputLimits.multipart_files,
    admit: Callable[[int], None],
) -> Form:
    """Read the form of a request. Fields that it does not accept, and file inputs without a file, are dropped.

    Raises:
        UnsupportedMediaType: the body is no form.
        PayloadTooLarge: it has too many bytes, fields or files.
        InvalidRequest: it is malformed, or a value is not UTF-8 or contains U+0000.
    """
    if request.mimetype not in TYPES and (request.mimetype or request.content_length):
        raise UnsupportedMediaType("Send a form")
    check_coding(request)
    if (request.content_length or 0) > max_bytes:
        raise PayloadTooLarge(ErrorMessage("The form is too large"))
    admit(request.content_length or 0)
    form = Form()
    if request.mimetype == TYPES[0]:
        sent = read_urlencoded(request, max_bytes=max_bytes, admit=admit)
        form.values = MultiDict((name, value) for name, value in sent if accepts(name))
    elif request.mimetype == TYPES[1]:
        parts = _Parts(form, accepts, max_files)
        after_this_request(parts.close)
        decode_multipart(request, parts.take, max_bytes=max_bytes, admit=admit)
    if any("\0" in value for _, value in form.values.items(multi=True)):
        raise InvalidRequest("A field contains a character that cannot be stored")
    return form


class _Parts:
    """The parts of a multipart form: text in memory, and files as temporary files."""

    def __init__(self, form: Form, accepts: Callable[[str], bool], max_files: int) -> None:
        self._form, self._accepts, self._max_files = form, accepts, max_files
        self._parts = 0
        self._free_bytes = InputLimits.form_bytes
        self._name: str | None = None
        self._text: list[bytes] = []
        self._file: FileStorage | None = None

    def take(self, event: Event) -> None:
        """Process an event of the decoder: the start of a part, or a piece of its content."""
        match event:
            case Field(name=name):
                self._begin(name)
            case File(name=name, filename=filename):
                self._begin(name if filename else None)
                if self._name is not None:
                    self._begin_file(self._name, filename)
            case Data(data=data, more_data=more):
                self._add(bytes(data), last=not more)

    def close(self, response: Response) -> Response:
        """Close the temporary files."""
        for file in chain.from_iterable(self._form.files.listvalues()):
            file.close()
        return response

    def _begin(self, name: str | None) -> None:
        self._parts += 1
        if self._parts > InputLimits.form_fields:
            raise PayloadTooLarge(ErrorMessage("The form has too many fields"))
        self._name = name if name and self._accepts(name) else None
        self._text, self._file = [], None

    def _begin_file(self, name: str, filename: str) -> None:
        if sum(map(len, self._form.files.listvalues())) >= self._max_files:
            raise PayloadTooLarge(ErrorMessage("The form has too many fields"))
        self._file = FileStorage(tempfile.TemporaryFile(), filename, name)  # noqa: SIM115 (closed with the request)
        self._form.files.add(name, self._file)

    def _add(self, data: bytes, *, last: bool) -> None:
        if self._name is None:
            return
        if self._file is not None:
            self._file.stream.write(data)
            if last:
                self._file.stream.seek(0)
            return
        self._free_bytes -= len(data)
        if self._free_bytes < 0:
            raise PayloadTooLarge(ErrorMessage("The form is too large"))
        self._text.append(data)
        if last:
            try:
                self._form.values.add(self._name, b"".join(self._text).decode())
            except UnicodeDecodeError as error:
                raise InvalidRequest("A field of the form is not valid UTF-8") from error
