"""Events between resources. A lower resource publishes, and higher resources subscribe.

Subscribers run in the transaction of the publisher, in the order of subscription. An exception rolls the transaction
back.
"""

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Event(Generic[P]):
    """A named event. Its type parameters are the signature of its subscribers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._subscribers: list[Callable[P, object]] = []

    def subscribe(self, subscriber: Callable[P, object]) -> Callable[P, object]:
        """Register a subscriber. Usable as a decorator. A function that is registered twice runs once."""
        if subscriber not in self._subscribers:
            self._subscribers.append(subscriber)
        return subscriber

    def publish(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call every subscriber."""
        for subscriber in self._subscribers:
            subscriber(*args, **kwargs)
