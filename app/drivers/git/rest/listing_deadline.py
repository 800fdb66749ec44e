"""The time limit of a listing that takes many calls."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, cast

from app.drivers.errors import UpstreamTimeout

T = TypeVar("T")


class ListingDeadline:
    """A limit for the time that the calls of one listing take together.

    The time that the reader takes between two results does not count.
    """

    def __init__(self, limit_s: float) -> None:
        self._remaining_s = limit_s

    @property
    def remaining_s(self) -> float:
        """Return the remaining time.

        Raises:
            UpstreamTimeout: no time remains.
        """
        if self._remaining_s <= 0:
            raise UpstreamTimeout("The Git host did not return the whole list in time")
        return self._remaining_s

    def limit(self, results: Iterable[T]) -> Iterator[T]:
        """Yield the results, each of which may take calls.

        Raises:
            UpstreamTimeout: the results took too long, and there are more.
        """
        iterator, end = iter(results), object()
        while (result := self.run(lambda: next(iterator, end))) is not end:
            yield cast(T, result)

    def run(self, call: Callable[[], T]) -> T:
        """Return the result of a call and count its time.

        Raises:
            UpstreamTimeout: no time remained before the call.
        """
        start_s, _ = time.monotonic(), self.remaining_s
        try:
            return call()
        finally:
            self._remaining_s -= time.monotonic() - start_s
