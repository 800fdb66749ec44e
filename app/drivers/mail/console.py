"""Mail transport that prints messages for development. Refused in production."""

import sys
from typing import TextIO

from app.drivers.mail.port import Mail, compose

RULE = "-" * 72


class ConsoleMail:
    """A transport that prints the text part."""

    def __init__(self, *, sender: str, out: TextIO | None = None) -> None:
        """Print to `out`. The default is the standard output at the time of sending."""
        self._sender = sender
        self._out = out

    def send(self, mail: Mail) -> None:
        """Print the message.

        Raises:
            UpstreamRejected: the message is invalid.
        """
        message = compose(mail, sender=self._sender)
        lines = [RULE, f"From: {self._sender}", f"To: {mail.to}", f"Subject: {message['Subject']}", "", mail.text, RULE]
        out = self._out or sys.stdout
        out.write("\n".join(lines) + "\n")
        out.flush()

    def check(self) -> None:
        """Do nothing, because printing always works."""
