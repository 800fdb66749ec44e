"""Exceptions for the failures that a caller may receive. Each exception carries its HTTP status and code.

Any module may raise them. `app.http.error_handlers` renders them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from app.core.clock import format_duration


class ErrorMessage(str):
    """An English message that the console translates: a template with `%(name)s`, in which the values are inserted.

    It is equal to its text. `str()` returns the same object, so an exception keeps the template.
    """

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, **values: object) -> Self:
        """Return the text with its template and values."""
        message = super().__new__(cls, template % values if values else template)
        message.template, message.values = template, values
        return message

    def __str__(self) -> str:
        return self


@dataclass(frozen=True)
class FieldError:
    """An error of one field. `path` is dotted (`files.0.path`)."""

    path: str
    message: str


class AppError(Exception):
    """A failure with an HTTP status, a code in UPPER_SNAKE and a message for the caller."""

    status = 500
    code = "INTERNAL"
    message = "An internal error occurred"

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        fields: Sequence[FieldError] = (),
        result: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message or self.message)
        self.message = message or self.message
        self.code = code or self.code
        self.fields = tuple(fields)
        self.result = result
        self.headers = dict(headers or {})


class InvalidRequest(AppError):
    """An invalid body or query (400)."""

    status, code, message = 400, "VALIDATION_FAILED", "The request is not valid"

    @classmethod
    def field(cls, path: str, message: str, *, code: str | None = None) -> "InvalidRequest":
        return cls(message, code=code, fields=[FieldError(path, message)])


class InvalidChunkedBody(InvalidRequest):
    """An invalid or incomplete chunked body (400)."""

    code, message = "INVALID_BODY", "The chunked body is invalid or incomplete"


class NotAuthenticated(AppError):
    """A request without a valid session (401)."""

    status, code, message = 401, "NOT_SIGNED_IN", "Sign in to continue"


class PermissionDenied(AppError):
    """A request of an authenticated user that a guard or a rule denies (403)."""

    status, code, message = 403, "NOT_ALLOWED", "You are not allowed to do this"


class EmailNotVerified(PermissionDenied):
    """A request of an account whose e-mail address is not verified (contract, section 1)."""

    code, message = "EMAIL_NOT_VERIFIED", "Verify your e-mail address first"


class SecondFactorRequired(PermissionDenied):
    """A request of a member who has proved no second factor, although an organization requires it (403)."""

    code, message = (
        "SECOND_FACTOR_REQUIRED",
        ErrorMessage("Your organization requires a second factor. Set it up, or sign in with it"),
    )


class ReauthRequired(PermissionDenied):
    """A change for which the user must have proved the identity a short time ago (403)."""

    code, message = "REAUTH_REQUIRED", ErrorMessage("Sign in again or send your password")


class LimitReached(PermissionDenied):
    """A request beyond a creation limit (spec 8)."""

    code, message = "LIMIT_REACHED", "The limit has been reached"


class NotFound(AppError):
    """A request for an object that does not exist, or with a malformed id (404)."""

    status, code, message = 404, "NOT_FOUND", "Not found"


class Conflict(AppError):
    """A request that conflicts with the present state (409)."""

    status, code, message = 409, "CONFLICT", "The request conflicts with the present state"


class Archived(Conflict):
    """A write in an archived organization or project (409)."""

    code, message = "ARCHIVED", ErrorMessage("The organization or project is archived. Make it active first")


class PreconditionFailed(AppError):
    """A request whose `If-Match` header names an older state (412)."""

    status, code, message = 412, "PRECONDITION_FAILED", "The resource has changed since it was read"


class PayloadTooLarge(AppError):
    """A request with more bytes, files or parts than the limit (413)."""

    status, code, message = 413, "TOO_LARGE", "The content is too large"


class UnsupportedMediaType(AppError):
    """A body of a media type that the route does not accept (415)."""

    status, code, message = 415, "WRONG_MEDIA_TYPE", "The media type is not supported. Send application/json"


class UnprocessableEntity(AppError):
    """An input of the caller that an upstream rejected (422)."""

    status, code, message = 422, "REFUSED", "The external service rejected the request"


class TooManyRequests(AppError):
    """An exceeded rate limit (429). `retry_after_s` becomes the `Retry-After` header and the end of the message."""

    status, code, message = 429, "TOO_MANY_REQUESTS", "Too many requests"

    def __init__(
        self, message: str | None = None, *, code: str | None = None, retry_after_s: int | None = None
    ) -> None:
        wait_s = 60 if retry_after_s is None else max(1, retry_after_s)
        text = message or self.message
        if retry_after_s is not None:
            time = format_duration(wait_s)
            general = ErrorMessage("Too many requests. Try again in %(time)s", time=time)
            text = general if text == TooManyRequests.message else f"{text}. Try again in {time}"
        super().__init__(text, code=code, headers={"Retry-After": str(wait_s)})


class BadGateway(AppError):
    """An error or an invalid response of an upstream (502)."""

    status, code, message = 502, "UPSTREAM_BROKEN", "The external service returned an error"


class ServiceUnavailable(AppError):
    """A dependency that is unavailable or busy (503)."""

    status, code, message = (
        503,
        "UNAVAILABLE",
        ErrorMessage("The service is temporarily unavailable. Try again shortly"),
    )

    def __init__(self, message: str | None = None, *, code: str | None = None, retry_after_s: int = 1) -> None:
        super().__init__(message, code=code, headers={"Retry-After": str(max(1, retry_after_s))})


class GatewayTimeout(AppError):
    """An upstream that did not respond in time (504)."""

    status, code, message = 504, "UPSTREAM_LATE", ErrorMessage("The external service did not respond in time")
