"""Limits on the memory for request bodies: bytes in flight per worker and per client address."""

import threading
from collections import Counter
from collections.abc import Callable

from flask import Flask, current_app, g

from app.core.errors import ServiceUnavailable, TooManyRequests
from app.core.limits import InputLimits

RETRY_AFTER_S = 5


class BodyBudget:
    """The bytes of all request bodies that one worker holds at the same time. Thread-safe."""

    def __init__(self, limits: InputLimits) -> None:
        self._max_bytes, self._max_address_bytes = limits.bodies_bytes, limits.bodies_address_bytes
        self._reserved: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reserve(self, address: str, size_bytes: int) -> None:
        """Reserve memory for a body.

        Raises:
            TooManyRequests: the bodies from this address would exceed its limit.
            ServiceUnavailable: all bodies together would exceed the limit of the worker.
        """
        with self._lock:
            if self._reserved[address] + size_bytes > self._max_address_bytes:
                raise TooManyRequests("Too many request bodies from this address", retry_after_s=RETRY_AFTER_S)
            if self._reserved.total() + size_bytes > self._max_bytes:
                raise ServiceUnavailable("The server is receiving too many bodies", retry_after_s=RETRY_AFTER_S)
            self._reserved[address] += size_bytes

    def release(self, address: str, size_bytes: int) -> None:
        """Return reserved memory."""
        with self._lock:
            self._reserved[address] -= size_bytes
            if not self._reserved[address]:
                del self._reserved[address]

    @property
    def reserved_bytes(self) -> int:
        return self._reserved.total()


class BodyAdmission:
    """The permission of one request to send its body, in steps of the size that is known so far.

    `authenticate` runs before the first byte above `unauthenticated_bytes` is read and raises if there is no session.
    `held_bytes` returns the memory that a body of a size needs until the end of its request.
    """

    def __init__(
        self,
        budget: BodyBudget,
        address: str,
        *,
        authenticate: Callable[[], None],
        unauthenticated_bytes: int,
        held_bytes: Callable[[int], int] = int,
    ) -> None:
        self._budget, self._address, self._held_bytes = budget, address, held_bytes
        self._authenticate, self._unauthenticated_bytes = authenticate, unauthenticated_bytes
        self._reserved_bytes = 0

    def admit(self, size_bytes: int) -> None:
        """Admit the body up to this size.

        Raises:
            NotAuthenticated: the body is large and the request has no session.
            TooManyRequests, ServiceUnavailable: see `BodyBudget.reserve`.
        """
        if size_bytes > self._unauthenticated_bytes:
            self._authenticate()
        needed_bytes = self._held_bytes(size_bytes)
        if needed_bytes > self._reserved_bytes:
            self._budget.reserve(self._address, needed_bytes - self._reserved_bytes)
            self._reserved_bytes = needed_bytes

    def hold(self, size_bytes: int) -> None:
        """Reserve memory for stored bytes that the request reads after its body. Raises as `BodyBudget.reserve`."""
        self._budget.reserve(self._address, size_bytes)
        self._reserved_bytes += size_bytes

    def release(self) -> None:
        self._budget.release(self._address, self._reserved_bytes)
        self._reserved_bytes = 0


def init_app(app: Flask, limits: InputLimits) -> None:
    """Create the budget of this worker. The end of a request returns what the request has reserved."""
    app.extensions["body_budget"] = BodyBudget(limits)
    app.extensions["unauthenticated_bytes"] = limits.unauthenticated_bytes
    app.teardown_request(_release)


def begin_admission(
    address: str,
    authenticate: Callable[[], None],
    *,
    unauthenticated_bytes: int | None = None,
    held_bytes: Callable[[int], int] = int,
) -> BodyAdmission:
    """Create the admission of the running request."""
    budget: BodyBudget = current_app.extensions["body_budget"]
    if unauthenticated_bytes is None:
        unauthenticated_bytes = current_app.extensions["unauthenticated_bytes"]
    g.body_admission = BodyAdmission(
        budget,
        address,
        authenticate=authenticate,
        unauthenticated_bytes=unauthenticated_bytes,
        held_bytes=held_bytes,
    )
    admission: BodyAdmission = g.body_admission
    return admission


def hold(size_bytes: int) -> None:
    """Reserve memory for stored bytes until the end of the running request. Raises as `BodyBudget.reserve`."""
    admission: BodyAdmission | None = g.get("body_admission")
    if admission is not None:
        admission.hold(size_bytes)


def _release(_error: BaseException | None) -> None:
    admission: BodyAdmission | None = g.pop("body_admission", None)
    if admission is not None:
        admission.release()
