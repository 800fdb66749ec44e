"""The client of a request as plain values that services may store."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ClientInfo:
    """The address and browser of a client, as stored with a session, and the language of the client's e-mails."""

    address: str | None = None
    agent: str | None = None
    language: str = "en"
