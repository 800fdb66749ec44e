"""What Galley asks of a mail transport. Every implementation passes `tests/drivers/mail/contract.py`."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Mail:
    """One message to one person: a subject without line breaks, a text part and an HTML part."""

    to: str
    subject: str
    text: str
    html: str


class MailTransport(Protocol):
    """Hands a message over; whoever calls retries."""

    def send(self, mail: Mail) -> None:
        """Deliver or hand over for delivery. Raises Absent or Late when it is worth another try, Rejected when not."""

    def check(self) -> None:
        """Make sure that mail could be handed over, without sending any. Raises Absent or Late."""
