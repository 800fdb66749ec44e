"""Who stands on the other side of a request, as plain values that services may keep."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Visitor:
    """The client's address and browser as kept with a session, and the language its mails are written in."""

    address: str | None = None
    agent: str | None = None
    language: str = "en"
