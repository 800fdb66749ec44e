"""Mail over SMTP (RFC 5321), one connection a message: mail is rare, and an idle connection would be cut anyway."""

import ipaddress
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from app.drivers.errors import Absent, DriverError, Late, Rejected
from app.drivers.mail.message import compose
from app.drivers.mail.port import Mail

# Per step of the dialogue. Servers that check for spam answer slowly (RFC 5321, 4.5.3.2 allows minutes); a job retries.
TIMEOUT_S = 20.0
PERMANENT = 500
PORTS = {"smtp": 587, "smtps": 465}


class SmtpMail:
    """Hands messages to the relay of `smtp[s]://user:password@host:port`."""

    def __init__(
        self, url: str, *, sender: str, context: ssl.SSLContext | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Take the relay's address; `context` says which certificates are trusted, by default the system's."""
        parts = urlsplit(url)
        self._implicit_tls = parts.scheme == "smtps"
        self._host = parts.hostname or "localhost"
        self._port = parts.port or PORTS[parts.scheme]
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._sender = sender
        self._context = context or ssl.create_default_context()
        self._timeout_s = timeout_s

    def send(self, mail: Mail) -> None:
        """Hand the message to the relay.

        Raises:
            Rejected: the relay refuses this message for good (5xx), or it could not be a mail.
            Late: the relay does not answer in time.
            Absent: the relay cannot be reached, refuses for now (4xx) or refuses our sign-in.
        """
        message = compose(mail, sender=self._sender)
        with self._signed_in() as relay:
            relay.send_message(message)

    def check(self) -> None:
        """Connect and sign in."""
        with self._signed_in() as relay:
            relay.noop()

    @contextmanager
    def _signed_in(self) -> Iterator[smtplib.SMTP]:
        with _told(), self._connected() as relay:
            self._secure(relay)
            if self._user:
                relay.login(self._user, self._password)
            yield relay

    def _connected(self) -> smtplib.SMTP:
        if self._implicit_tls:
            return smtplib.SMTP_SSL(self._host, self._port, timeout=self._timeout_s, context=self._context)
        return smtplib.SMTP(self._host, self._port, timeout=self._timeout_s)

    def _secure(self, relay: smtplib.SMTP) -> None:
        """Use STARTTLS where it is offered; without TLS the password stays on this machine."""
        relay.ehlo_or_helo_if_needed()
        if self._implicit_tls:
            return
        if relay.has_extn("starttls"):
            relay.starttls(context=self._context)
            relay.ehlo()
        elif self._user and not _is_loopback(self._host):
            raise Absent("The mail relay offers no TLS, and the password is not sent without it", retry_after_s=300)


@contextmanager
def _told() -> Iterator[None]:
    """Tell smtplib's errors in our words. What the relay wrote stays in the cause: it may quote the recipient."""
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        raise _by_code(max(code for code, _ in error.recipients.values())) from error
    except smtplib.SMTPAuthenticationError as error:
        raise Absent("The mail relay refuses our sign-in", retry_after_s=300) from error
    except smtplib.SMTPResponseException as error:
        raise _by_code(error.smtp_code) from error
    except smtplib.SMTPNotSupportedError as error:
        raise Rejected("The mail relay does not take addresses of this kind") from error
    except UnicodeError as error:
        raise Absent(
            "The mail relay's user or password has letters that SMTP cannot carry", retry_after_s=300
        ) from error
    except OSError as error:  # smtplib's own errors are OSErrors too, and its "disconnected" hides a timeout
        if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
            raise Late("The mail relay did not answer in time") from error
        raise Absent("The mail relay cannot be reached", retry_after_s=30) from error


def _by_code(code: int) -> DriverError:
    if code >= PERMANENT:
        return Rejected("The mail relay refuses this message")
    return Absent("The mail relay takes no message right now", retry_after_s=60)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
