"""Announcements between resources: a lower one announces, a higher one subscribes, in the same transaction.

Subscribers run in the announcer's transaction and in the order they subscribed; one that raises undoes everything.
"""

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Event(Generic[P]):
    """A named moment others may react to; its subscribers share the announced arguments' signature."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._subscribers: list[Callable[P, object]] = []

    def subscribe(self, react: Callable[P, object]) -> Callable[P, object]:
        """Register `react`; usable as a decorator. Registering the same function twice counts once."""
        if react not in self._subscribers:
            self._subscribers.append(react)
        return react

    def announce(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call every subscriber."""
        for react in self._subscribers:
            react(*args, **kwargs)
