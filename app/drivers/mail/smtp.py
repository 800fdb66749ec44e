"""Mail over SMTP (RFC 5321) with one connection per message, because relays close idle connections."""

import ipaddress
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parseaddr
from urllib.parse import unquote, urlsplit

from app.core.emails import with_ascii_domain
from app.drivers.errors import DriverError, UpstreamRejected, UpstreamTimeout, UpstreamUnavailable
from app.drivers.mail.port import Mail, compose

# Per command. Servers with spam checks respond slowly (RFC 5321, 4.5.3.2 allows minutes). The job retries.
TIMEOUT_S = 20.0
TEMPORARY, PERMANENT, SIGN_IN_REQUIRED = 400, 500, 530
SIGN_IN_MESSAGE = "The mail relay requires a sign-in or TLS (530). Set the user and the password in SMTP_URL"
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
            UpstreamRejected: the relay refuses recipient or content permanently (5xx), or the message is invalid.
            UpstreamTimeout: the relay does not respond in time.
            UpstreamUnavailable: the relay cannot be reached or refuses temporarily (4xx), or its certificate, the
                sign-in or the sender is refused. Another attempt succeeds after a correction of the settings.
        """
        message = compose(mail, sender=self._sender)
        with self._signed_in() as relay:
            try:
                relay.send_message(message)
            except smtplib.SMTPNotSupportedError as error:
                raise UpstreamRejected("The mail relay does not support this form of address") from error

    def check(self) -> None:
        """Connect, sign in and name the sender, without a recipient."""
        sender = with_ascii_domain(parseaddr(self._sender)[1])
        with self._signed_in() as relay:
            if sender.isascii():  # Another address needs an option that `send_message` selects.
                code, reply = relay.mail(sender)
                if code >= TEMPORARY:
                    raise smtplib.SMTPSenderRefused(code, reply, sender)
            relay.rset()

    @contextmanager
    def _signed_in(self) -> Iterator[smtplib.SMTP]:
        with _translate_errors(), self._connected() as relay:
            self._secure(relay)
            if self._user:
                self._sign_in(relay)
            yield relay

    def _sign_in(self, relay: smtplib.SMTP) -> None:
        try:
            relay.login(self._user, self._password)
        except (smtplib.SMTPResponseException, smtplib.SMTPServerDisconnected):
            raise
        except smtplib.SMTPException as error:  # The relay has no AUTH, or none of the methods of smtplib.
            raise _misconfigured(
                "The mail relay offers no sign-in (AUTH) that the service supports, but SMTP_URL contains a user"
            ) from error

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
            raise _misconfigured("The mail relay offers no TLS. The password is not sent without TLS")


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate the errors of smtplib.

    The message of the relay stays in the cause, because it may quote the recipient.
    """
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        raise _by_code(max(code for code, _ in error.recipients.values()), "recipient") from error
    except smtplib.SMTPDataError as error:
        raise _by_code(error.smtp_code, "content") from error
    except smtplib.SMTPResponseException as error:
        raise _of_relay(error) from error
    except UnicodeError as error:
        raise _misconfigured(
            "The user or password of the mail relay contains characters that SMTP does not support"
        ) from error
    except ssl.SSLCertVerificationError as error:
        raise _misconfigured(f"The certificate of the mail relay is not trusted: {error.verify_message}") from error
    except ssl.SSLError as error:
        raise _misconfigured(
            "The mail relay and the service agreed on no TLS. smtps is for ports that begin with TLS"
        ) from error
    except OSError as error:  # Errors of smtplib are OSErrors. SMTPServerDisconnected hides a timeout.
        if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
            raise UpstreamTimeout("The mail relay did not respond in time") from error
        raise UpstreamUnavailable("The mail relay cannot be reached", retry_after_s=30) from error


def _by_code(code: int, part: str) -> DriverError:
    """Return the error of a refused recipient or content."""
    if code == SIGN_IN_REQUIRED:
        return _misconfigured(SIGN_IN_MESSAGE)
    if code >= PERMANENT:
        return UpstreamRejected(f"The mail relay refused the {part} of this message ({code})")
    return UpstreamUnavailable(f"The mail relay accepts no messages at the moment ({code})", retry_after_s=60)


def _of_relay(error: smtplib.SMTPResponseException) -> UpstreamUnavailable:
    """Return the error of a response that concerns every message."""
    code = error.smtp_code
    if code < PERMANENT and not isinstance(error, smtplib.SMTPAuthenticationError):
        return UpstreamUnavailable(f"The mail relay accepts no messages at the moment ({code})", retry_after_s=60)
    match error:
        case _ if code == SIGN_IN_REQUIRED:
            return _misconfigured(SIGN_IN_MESSAGE)
        case smtplib.SMTPAuthenticationError():
            return _misconfigured(f"The mail relay refused the sign-in ({code})")
        case smtplib.SMTPSenderRefused():
            return _misconfigured(f"The mail relay refused the sender, MAIL_FROM ({code})")
    return _misconfigured(f"The mail relay refused the connection ({code})")


def _misconfigured(message: str) -> UpstreamUnavailable:
    """Return the error of a relay that accepts no message until an operator corrects it or the settings."""
    return UpstreamUnavailable(message, retry_after_s=300)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
