"""Port of mail transports. Every implementation passes `tests/drivers/mail/contract.py`."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Mail:
    """A message to one recipient: a subject without line breaks, a text part and an HTML part."""

    to: str
    subject: str
    text: str
    html: str


class MailTransport(Protocol):
    """A transport of messages. The caller retries."""

    def send(self, mail: Mail) -> None:
        """Send a message.

        Raises:
            UpstreamUnavailable, UpstreamTimeout: another attempt may succeed.
            UpstreamRejected: another attempt cannot succeed.
        """

    def check(self) -> None:
        """Check the transport without sending a message.

        Raises:
            UpstreamUnavailable, UpstreamTimeout: the transport does not work.
        """
