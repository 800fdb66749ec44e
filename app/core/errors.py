"""Every failure a caller may meet, as a narrow exception that carries its own status and code.

Raised anywhere, rendered in one module (`app.http.error_handlers`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FieldError:
    """One fault of one field; `path` is dotted (`files.0.path`)."""

    path: str
    message: str


class AppError(Exception):
    """A failure with an HTTP status, a code in UPPER_SNAKE and a sentence its reader can act on."""

    status = 500
    code = "INTERNAL"
    message = "Something went wrong on our side"

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


class Invalid(AppError):
    """The body or query does not fit (400)."""

    status, code, message = 400, "VALIDATION_FAILED", "The request is not valid"

    @classmethod
    def field(cls, path: str, message: str, *, code: str | None = None) -> "Invalid":
        """One fault of one field."""
        return cls(message, code=code, fields=[FieldError(path, message)])


class Unframed(Invalid):
    """The body is not cut into chunks as HTTP has it, or breaks off (400)."""

    code, message = "INVALID_BODY", "The body is not framed as HTTP asks for, or breaks off"


class NotSignedIn(AppError):
    """No valid session (401)."""

    status, code, message = 401, "NOT_SIGNED_IN", "Sign in to go on"


class NotAllowed(AppError):
    """Signed in, but a guard or a rule says no (403)."""

    status, code, message = 403, "NOT_ALLOWED", "You are not allowed to do this"


class EmailNotVerified(NotAllowed):
    """The account's e-mail waits for its code (contract, section 1)."""

    code, message = "EMAIL_NOT_VERIFIED", "Verify your e-mail address first"


class LimitReached(NotAllowed):
    """A creation limit is used up (spec 8)."""

    code, message = "LIMIT_REACHED", "The limit is reached"


class NotFound(AppError):
    """The thing does not exist, or its id is malformed (404)."""

    status, code, message = 404, "NOT_FOUND", "Not found"


class Conflict(AppError):
    """The request contradicts the present state (409)."""

    status, code, message = 409, "CONFLICT", "This conflicts with the present state"


class Archived(Conflict):
    """A write inside an archived organization or project (409)."""

    code, message = "ARCHIVED", "This is archived; make it active first"


class PreconditionFailed(AppError):
    """`If-Match` names an older state (412)."""

    status, code, message = 412, "PRECONDITION_FAILED", "It has changed since you read it"


class TooLarge(AppError):
    """More bytes, files or parts than the limit (413)."""

    status, code, message = 413, "TOO_LARGE", "That is too large"


class WrongMediaType(AppError):
    """A body of another type than the route reads (415)."""

    status, code, message = 415, "WRONG_MEDIA_TYPE", "Send application/json"


class Refused(AppError):
    """An upstream refused what the user gave (422)."""

    status, code, message = 422, "REFUSED", "The other service refused this"


class TooManyRequests(AppError):
    """A rate limit (429); `retry_after_s` becomes the `Retry-After` header."""

    status, code, message = 429, "TOO_MANY_REQUESTS", "Too many requests; wait a moment"

    def __init__(self, message: str | None = None, *, code: str | None = None, retry_after_s: int = 60) -> None:
        super().__init__(message, code=code, headers={"Retry-After": str(max(1, retry_after_s))})


class UpstreamBroken(AppError):
    """An upstream answered with rubbish or an error of its own (502)."""

    status, code, message = 502, "UPSTREAM_BROKEN", "The other service is not working"


class Unavailable(AppError):
    """Something we depend on is down or busy (503)."""

    status, code, message = 503, "UNAVAILABLE", "Not available right now; try again shortly"

    def __init__(self, message: str | None = None, *, code: str | None = None, retry_after_s: int = 1) -> None:
        super().__init__(message, code=code, headers={"Retry-After": str(max(1, retry_after_s))})


class UpstreamLate(AppError):
    """An upstream did not answer in time (504)."""

    status, code, message = 504, "UPSTREAM_LATE", "The other service did not answer in time"
