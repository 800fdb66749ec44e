"""Submitted forms: their reading within limits, their values, and the errors that a page shows at the fields."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flask import Request
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from app.concurrency.threadpool import time_limit
from app.console.service_messages import translate
from app.core.errors import AppError, InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from app.core.limits import InputLimits
from app.http.body import RequestTimeout, check_coding

TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
MAX_BYTES = 3 * InputLimits.multipart_bytes
"""The size of a form. The encoding of a URL needs up to three bytes for each byte of a text."""
MAX_PARTS = 1_000


@dataclass
class Form:
    """A form as it was sent, and the error for which its page is shown again."""

    values: MultiDict[str, str] = field(default_factory=MultiDict)
    files: MultiDict[str, FileStorage] = field(default_factory=MultiDict)
    error: AppError | None = None
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
        """Return all values of a field."""
        return self.values.getlist(name)

    def is_checked(self, name: str) -> bool:
        """Return whether a checkbox is checked."""
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


def read(request: Request, *, admit: Callable[[int], None]) -> Form:
    """Read the form of a request.

    Raises:
        UnsupportedMediaType: the body is no form.
        PayloadTooLarge: it has too many bytes or fields.
        InvalidRequest: a value contains U+0000.
    """
    if request.mimetype not in TYPES and (request.mimetype or request.content_length):
        raise UnsupportedMediaType("Send a form")
    check_coding(request)
    request.max_content_length = request.max_form_memory_size = MAX_BYTES
    request.max_form_parts = MAX_PARTS
    admit(request.content_length or 0)
    try:
        with time_limit(InputLimits.body_timeout_s, RequestTimeout()):
            form = Form(MultiDict(request.form), MultiDict(request.files))
    except RequestEntityTooLarge as error:
        raise PayloadTooLarge("The form is too large") from error
    if any("\0" in value for _, value in form.values.items(multi=True)):
        raise InvalidRequest("A field contains a character that cannot be stored")
    return form
