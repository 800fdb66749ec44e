"""The hook that runs before each call to another system."""

from abc import ABC, abstractmethod
from collections.abc import Callable

_checks: list[Callable[[str], None]] = []


def set_check(check: Callable[[str], None]) -> None:
    """Set the function that runs before each outbound call. It receives the name of the client."""
    _checks[:] = [check]


def before_call(client: str) -> None:
    """Run the check. HTTP client and Git command runner call this before each call."""
    for check in _checks:
        check(client)


class OutsideResource(ABC):
    """A result of `upstream` that exists outside of the database."""

    @abstractmethod
    def discard(self) -> None:
        """Remove the resource, because the transaction was refused.

        It is not called if the result of the transaction is unknown, so a job must remove resources without rows as
        well.
        """
