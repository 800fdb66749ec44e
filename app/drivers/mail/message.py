"""A mail as the bytes that travel: MIME, a text part and an HTML part of the same content."""

from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid, parseaddr

from app.core import clock
from app.drivers.errors import Rejected
from app.drivers.mail.port import Mail


def compose(mail: Mail, *, sender: str) -> EmailMessage:
    """The message of `mail` from `sender` (`Name <address>` or an address alone).

    Raises:
        Rejected: an address or the subject cannot stand in a header.
    """
    message = EmailMessage(policy=SMTP)
    name, address = parseaddr(sender)
    try:
        message["From"] = Address(name, addr_spec=address)
        message["To"] = Address(addr_spec=mail.to)
        message["Subject"] = mail.subject
    except (ValueError, IndexError, MessageError) as error:
        raise Rejected("An address or the subject of a mail cannot be written into it") from error
    message["Date"] = format_datetime(clock.now())
    message["Message-ID"] = make_msgid(domain=address.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    # Quoted-printable, because not every relay takes 8-bit letters.
    message.set_content(mail.text, cte="quoted-printable")
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    return message
