"""Port of mail transports, and MIME messages. Every implementation passes `tests/drivers/mail/contract.py`."""

from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime, make_msgid, parseaddr
from typing import Protocol

from app.core import clock
from app.core.emails import with_ascii_domain
from app.drivers.errors import UpstreamRejected


@dataclass(frozen=True)
class Mail:
    """A message to one recipient: a subject without line breaks, a text part and an HTML part.

    `unsubscribe_url` is the page on which the recipient chooses the mails of this kind, if there is one. `reply_to` is
    the address that receives the answers, else the sender does.
    """

    to: str
    subject: str
    text: str
    html: str
    unsubscribe_url: str = ""
    reply_to: str = ""


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


def compose(mail: Mail, *, sender: str) -> EmailMessage:
    """Build the message of `mail` from `sender` (`Name <address>` or an address).

    Raises:
        UpstreamRejected: an address or the subject is not valid in a header.
    """
    name, address = parseaddr(sender)
    try:
        author, reader = _address(address, name), _address(mail.to)
        answers = _address(mail.reply_to) if mail.reply_to else author
        plain = all(address.addr_spec.isascii() for address in (author, reader, answers))
        message = EmailMessage(policy=SMTP if plain else SMTPUTF8)
        message["From"], message["To"], message["Subject"] = author, reader, mail.subject
        if mail.reply_to:
            message["Reply-To"] = answers
    except (ValueError, IndexError, MessageError) as error:
        raise UpstreamRejected("An address or the subject of a mail is not valid in a header") from error
    message["Date"] = format_datetime(clock.now())
    message["Message-ID"] = make_msgid(domain=author.domain)
    message["Auto-Submitted"] = "auto-generated"
    if mail.unsubscribe_url:
        message["List-Unsubscribe"] = f"<{mail.unsubscribe_url}>"
    # Not every relay accepts 8-bit characters.
    message.set_content(mail.text, cte="quoted-printable")
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    return message


def _address(text: str, name: str = "") -> Address:
    """Return the address with an ASCII domain. Other characters before the @ need SMTPUTF8 (RFC 6531)."""
    address = with_ascii_domain(text)
    if address.isascii():
        return Address(name, addr_spec=address)
    # Pass two parts: the parser of the library accepts ASCII addresses only.
    local, _, domain = address.rpartition("@")
    return Address(name, username=local, domain=domain)
