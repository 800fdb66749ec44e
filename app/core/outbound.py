"""The hook that runs before each call to another system."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

_checks: list[Callable[[str], None]] = []


def set_check(check: Callable[[str], None]) -> None:
    """Set the function that runs before each outbound call. It receives the name of the client."""
    _checks[:] = [check]


def before_call(client: str) -> None:
    """Run the check. HTTP client and Git command runner call this before each call."""
    for check in _checks:
        check(client)


@dataclass(frozen=True)
class LateRecord(Generic[T_co]):
    """The result of a request that another system has carried out, and the jobs that record it: names and arguments."""

    result: T_co
    jobs: Sequence[tuple[str, Mapping[str, Any]]] = ()  # plain values of different types


class OutsideResource(ABC):
    """A resource that an act has created outside of the database."""

    @abstractmethod
    def discard(self) -> None:
        """Remove the resource, because the transaction was refused.

        It is not called if the result of the transaction is unknown, so a job must remove resources without rows as
        well.
        """


@dataclass(frozen=True)
class UnrecordedAct(Generic[T_co]):
    """An act after its calls to other systems. `record` runs in the transaction and returns the result of the act.

    `late` is the record of an effect if the transaction fails. The session is rolled back then, so it has plain values.
    None: there was no effect. `resource` is removed if the transaction is refused.
    """

    record: Callable[[], T_co]
    late: LateRecord[T_co] | None = None
    resource: OutsideResource | None = None
