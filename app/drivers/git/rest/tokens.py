"""Tokens of REST calls: suppliers, their age, and the retry of tokens that a host does not know yet."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from app.core import clock
from app.core.limits import OutboundLimits
from app.drivers.errors import ReconnectRequired
from app.drivers.http.client import HttpResponse

UNAUTHORIZED = 401

REJECTED = "The Git host no longer accepts this account's credential. Connect the account again"


class TokenSupplier(Protocol):
    """Source of the token of a provider. Called from any thread, so it opens the connections that it needs itself."""

    def __call__(self, rejected: str | None = None) -> str:
        """Return the current token.

        Parameters:
            rejected: a token that the host refused. The supplier returns a newer one.

        Raises:
            ReconnectRequired: there is no newer token.
        """


@runtime_checkable
class TokenMonitor(Protocol):
    """A supplier that knows the age of its tokens and records whether the host accepts them."""

    def age_s(self, token: str) -> float:
        """Return the seconds since the host issued the token, or infinity for an unknown time."""

    def accepted(self, token: str) -> None:
        """Record that the host accepted the token."""

    def refused(self, token: str) -> None:
        """Record that the host refused the token, which was already a replacement."""


@dataclass(frozen=True)
class FixedToken:
    """A supplier of one token that cannot be refreshed."""

    token: str = field(repr=False)
    issued_at: datetime | None = None

    def __call__(self, rejected: str | None = None) -> str:
        """Return the token.

        Raises:
            ReconnectRequired: the host refused the token.
        """
        if rejected is not None:
            raise ReconnectRequired(REJECTED)
        return self.token

    def age_s(self, token: str) -> float:
        return math.inf if self.issued_at is None else seconds_since(self.issued_at)

    def accepted(self, token: str) -> None:
        """Record nothing."""

    def refused(self, token: str) -> None:
        """Record nothing."""


def seconds_since(moment: datetime) -> float:
    """Return the seconds that have passed since a moment."""
    return (clock.now() - moment).total_seconds()


def supplier_of(token: str | TokenSupplier) -> TokenSupplier:
    """Return a supplier for a token that is a text or a supplier."""
    return FixedToken(token) if isinstance(token, str) else token


@dataclass(frozen=True)
class ReplicationRetry:
    """Retry of calls with a new token until the host has replicated it.

    A 401 for a token younger than `window_s` is not final, because hosts replicate new tokens slowly (limits, section
    3).
    """

    window_s: float = OutboundLimits.token_replication_s
    first_pause_s: float = 0.2
    max_pause_s: float = 1.0
    sleep: Callable[[float], None] = time.sleep

    def send(self, call: Callable[[], HttpResponse], supplier: TokenSupplier, token: str, until: float) -> HttpResponse:
        """Call once, and again while the response is 401, the token is new and the deadline `until` is not reached."""
        answer, pause_s = call(), self.first_pause_s
        while answer.status == UNAUTHORIZED and isinstance(supplier, TokenMonitor):
            remaining_s = min(self.window_s - supplier.age_s(token), until - time.monotonic())
            if remaining_s <= 0:
                break
            self.sleep(min(pause_s, remaining_s))
            answer, pause_s = call(), min(2 * pause_s, self.max_pause_s)
        return answer
