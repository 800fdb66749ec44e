"""Mail over SMTP (RFC 5321) with one connection per message, because relays close idle connections."""

import ipaddress
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from app.drivers.errors import DriverError, UpstreamRejected, UpstreamTimeout, UpstreamUnavailable
from app.drivers.mail.message import compose
from app.drivers.mail.port import Mail

# Per command. Servers with spam checks respond slowly (RFC 5321, 4.5.3.2 allows minutes). The job retries.
TIMEOUT_S = 20.0
PERMANENT = 500
PORTS = {"smtp": 587, "smtps": 465}


class SmtpMail:
    """A transport to the relay of `smtp[s]://user:password@host:port`."""

    def __init__(
        self, url: str, *, sender: str, context: ssl.SSLContext | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Store the URL of the relay. `context` defaults to the certificates of the system."""
        parts = urlsplit(url)
        self._implicit_tls = parts.scheme == "smtps"
        self._host = parts.hostname or "localhost"
        self._port = parts.port or PORTS[parts.scheme]
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._sender = sender
        self._context = context or ssl.create_default_context()
        self._timeout_s = timeout_s

    def send(self, mail: Mail) -> None:
        """Send the message to the relay.

        Raises:
            UpstreamRejected: the relay refuses the message permanently (5xx), or the message is invalid.
            UpstreamTimeout: the relay does not respond in time.
            UpstreamUnavailable: the relay cannot be reached, refuses temporarily (4xx) or refuses the sign-in.
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
        with _translate_errors(), self._connected() as relay:
            self._secure(relay)
            if self._user:
                relay.login(self._user, self._password)
            yield relay

    def _connected(self) -> smtplib.SMTP:
        if self._implicit_tls:
            return smtplib.SMTP_SSL(self._host, self._port, timeout=self._timeout_s, context=self._context)
        return smtplib.SMTP(self._host, self._port, timeout=self._timeout_s)

    def _secure(self, relay: smtplib.SMTP) -> None:
        """Use STARTTLS if the relay offers it. Without TLS the password is only sent to a loopback relay."""
        relay.ehlo_or_helo_if_needed()
        if self._implicit_tls:
            return
        if relay.has_extn("starttls"):
            relay.starttls(context=self._context)
            relay.ehlo()
        elif self._user and not _is_loopback(self._host):
            raise UpstreamUnavailable(
                "The mail relay offers no TLS. The password is not sent without TLS", retry_after_s=300
            )


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate the errors of smtplib. The message of the relay stays in the cause, because it may quote the recipient."""
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        raise _by_code(max(code for code, _ in error.recipients.values())) from error
    except smtplib.SMTPAuthenticationError as error:
        raise UpstreamUnavailable("The mail relay refused the sign-in", retry_after_s=300) from error
    except smtplib.SMTPResponseException as error:
        raise _by_code(error.smtp_code) from error
    except smtplib.SMTPNotSupportedError as error:
        raise UpstreamRejected("The mail relay does not support this form of address") from error
    except UnicodeError as error:
        raise UpstreamUnavailable(
            "The user or password of the mail relay contains characters that SMTP does not support", retry_after_s=300
        ) from error
    except OSError as error:  # Errors of smtplib are OSErrors. SMTPServerDisconnected hides a timeout.
        if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
            raise UpstreamTimeout("The mail relay did not respond in time") from error
        raise UpstreamUnavailable("The mail relay cannot be reached", retry_after_s=30) from error


def _by_code(code: int) -> DriverError:
    if code >= PERMANENT:
        return UpstreamRejected("The mail relay refused this message")
    return UpstreamUnavailable("The mail relay accepts no messages at the moment", retry_after_s=60)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
