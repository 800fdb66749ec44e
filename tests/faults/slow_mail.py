"""A mail server that delays each message, so that the job runs for that time."""

import asyncio
from collections import Counter

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from tests.support.servers.ports import free_port

TAKES_S = 12.0
"""Longer than the heartbeat interval of a worker plus the interval of the search for lost calls."""


class SlowMail:
    """A mail server that runs inside a `with` block."""

    def __init__(self) -> None:
        self.taking: set[str] = set()
        self.taken: Counter[str] = Counter()
        self._controller = Controller(self, hostname="127.0.0.1", port=free_port())

    @property
    def url(self) -> str:
        """Return the URL for the settings."""
        return f"smtp://127.0.0.1:{self._controller.port}"

    def __enter__(self) -> "SlowMail":
        self._controller.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._controller.stop()

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:
        """Accept a message slowly."""
        self.taking.update(envelope.rcpt_tos)
        await asyncio.sleep(TAKES_S)
        self.taken.update(envelope.rcpt_tos)
        return "250 taken"
