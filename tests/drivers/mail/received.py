"""Parser of delivered messages."""

import email
import email.policy
from email.message import EmailMessage
from typing import cast

from tests.drivers.mail.contract import Received


def parse(content: bytes) -> EmailMessage:
    return cast("EmailMessage", email.message_from_bytes(content, policy=email.policy.default))


def as_received(content: bytes) -> Received:
    message = parse(content)
    text = message.get_body(("plain",))
    assert text is not None
    return Received(
        str(message["From"]), str(message["To"]), str(message["Subject"]), text.get_content().rstrip("\r\n")
    )
