"""Errors of external systems. `app.http.error_handlers` maps each of them to an HTTP status."""


class DriverError(Exception):
    """An error of an external system. The message is safe to show, because it contains no secret."""


class UpstreamRejected(DriverError):
    """A refusal of the input of the user (422). `code` is the error code of the contract."""

    def __init__(self, message: str, *, code: str = "REFUSED") -> None:
        super().__init__(message)
        self.code = code


class UpstreamError(DriverError):
    """An error response or an invalid response of the upstream (502)."""


class UpstreamUnavailable(DriverError):
    """An upstream that cannot be reached or is not configured (503). Retry after `retry_after_s`."""

    def __init__(self, message: str, *, retry_after_s: int = 1, code: str = "UNAVAILABLE") -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.code = code


class UpstreamTimeout(DriverError):
    """An upstream that did not respond in time (504)."""


class UpstreamThrottled(DriverError):
    """An exceeded rate limit of the upstream (503 with `Retry-After`)."""

    def __init__(self, message: str, *, retry_after_s: int = 60) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ReconnectRequired(DriverError):
    """A stored credential no longer works and cannot be renewed (409 `NEEDS_RECONNECT`)."""
