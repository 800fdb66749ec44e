"""A bounded cache in the memory of a process."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """The values that were stored last. Threads and green threads can share it."""

    def __init__(self, size: int) -> None:
        """Keep at most `size` values."""
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()

    def find(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        return self._values.get(key)

    def store(self, key: K, value: V) -> V:
        """Store a value and return it. The oldest one goes if there are too many."""
        self._values[key] = value
        while len(self._values) > self._size:
            self._values.popitem(last=False)
        return value

    def get(self, key: K, read: Callable[[], V]) -> V:
        """Return the value of a key. If there is none, store the result of `read`, which can wait for other systems.

        A value that is removed during the wait is returned all the same.
        """
        value = self._values.get(key)
        return value if value is not None else self.store(key, read())
