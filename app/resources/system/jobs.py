"""The job that sends a mail whose words hold no secret; mails with codes and links are sent by who makes those."""

from jinja2 import TemplateNotFound, UndefinedError

from app.core import mails
from app.core.jobs import PermanentFailure, job
from app.drivers.errors import Rejected
from app.drivers.mail.port import Mail, MailTransport


@job("mail.send", uses=("mail",), priority=5)
def send(*, to: str, template: str, mail: MailTransport, language: str = "en", **values: object) -> None:
    """Write the mail `template` (a name of `app.core.mails`) in a language and hand it over.

    Raises:
        PermanentFailure: there is no such mail, a value is missing, or the address is refused for good.
    """
    try:
        deliver(mail, to, template, language, **values)
    except (TemplateNotFound, UndefinedError, Rejected) as error:
        raise PermanentFailure(f"The mail {template} cannot be sent: {type(error).__name__}") from error


def deliver(mail: MailTransport, to: str, template: str, language: str, /, **values: object) -> None:
    """Write a mail and hand it over."""
    written = mails.write(template, language, **values)
    mail.send(Mail(to, written.subject, written.text, written.html))
