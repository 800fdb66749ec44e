"""MIME messages with a text part and an HTML part."""

from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime, make_msgid, parseaddr

from app.core import clock
from app.core.emails import with_ascii_domain
from app.drivers.errors import UpstreamRejected
from app.drivers.mail.port import Mail


def compose(mail: Mail, *, sender: str) -> EmailMessage:
    """Build the message of `mail` from `sender` (`Name <address>` or an address).

    Raises:
        UpstreamRejected: an address or the subject is not valid in a header.
    """
    name, address = parseaddr(sender)
    try:
        author, reader = _address(address, name), _address(mail.to)
        plain = author.addr_spec.isascii() and reader.addr_spec.isascii()
        message = EmailMessage(policy=SMTP if plain else SMTPUTF8)
        message["From"], message["To"], message["Subject"] = author, reader, mail.subject
    except (ValueError, IndexError, MessageError) as error:
        raise UpstreamRejected("An address or the subject of a mail is not valid in a header") from error
    message["Date"] = format_datetime(clock.now())
    message["Message-ID"] = make_msgid(domain=author.domain)
    message["Auto-Submitted"] = "auto-generated"
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
