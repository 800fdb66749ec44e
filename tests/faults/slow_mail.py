"""A mail server that takes its time with every letter, so that a job is under way for as long."""

import asyncio
from collections import Counter

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from tests.servers.ports import free_port

TAKES_S = 12.0
"""Longer than a worker's heartbeat and its look for lost calls take together."""


class SlowMail:
    """Runs for the length of a `with`."""

    def __init__(self) -> None:
        self.taking: set[str] = set()
        self.taken: Counter[str] = Counter()
        self._controller = Controller(self, hostname="127.0.0.1", port=free_port())

    @property
    def url(self) -> str:
        """Where it listens, as the settings say it."""
        return f"smtp://127.0.0.1:{self._controller.port}"

    def __enter__(self) -> "SlowMail":
        self._controller.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._controller.stop()

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:
        """Take a letter, slowly."""
        self.taking.update(envelope.rcpt_tos)
        await asyncio.sleep(TAKES_S)
        self.taken.update(envelope.rcpt_tos)
        return "250 taken"
