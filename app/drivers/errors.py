"""How the outer world fails, told in our words; `app.http.error_handlers` turns each into a status."""


class DriverError(Exception):
    """Something outside did not do what was asked. The message is safe to show; it never holds a secret."""


class Rejected(DriverError):
    """The other side refused what the user gave (422); `code` is the contract's where it names one."""

    def __init__(self, message: str, *, code: str = "REFUSED") -> None:
        super().__init__(message)
        self.code = code


class Broken(DriverError):
    """The other side answered with an error of its own or with rubbish (502)."""


class Absent(DriverError):
    """The other side cannot be reached or is not configured (503); worth another try after `retry_after_s`."""

    def __init__(self, message: str, *, retry_after_s: int = 1, code: str = "UNAVAILABLE") -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.code = code


class Late(DriverError):
    """The other side did not answer in time (504)."""


class Throttled(DriverError):
    """The other side's rate limit is used up (503 with `Retry-After`)."""

    def __init__(self, message: str, *, retry_after_s: int = 60) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NeedsReconnect(DriverError):
    """A stored credential no longer works and cannot be renewed (409 `NEEDS_RECONNECT`)."""
