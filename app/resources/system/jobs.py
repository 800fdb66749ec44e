"""Jobs of the service itself: mails whose words hold no secret, and taking away what has run out.

Mails with codes and links are sent by who makes those.
"""

from datetime import timedelta

import sqlalchemy as sa
from jinja2 import TemplateNotFound, UndefinedError

from app.core import mails
from app.core.jobs import PermanentFailure, job
from app.drivers.errors import Rejected
from app.drivers.mail.port import Mail, MailTransport
from app.models.base import moment
from app.models.idempotency import IdempotencyKey
from app.models.login import LoginAttempt, OneTimeCode, Session
from app.resources.system import purging

CODES_KEPT = timedelta(days=1)
"""As long as sendings are counted (limits, section 1: Codes)."""


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


@job("system.purge", every=timedelta(hours=1), retries=2)
def purge() -> int:
    """Delete sessions, codes, login attempts and kept answers that have run out; returns how many."""
    now = moment()
    gone = sa.or_(Session.expires_at < now, Session.idle_expires_at < now)
    return sum(
        purging.purge(model, where)
        for model, where in (
            (Session, gone),
            # What is contested stays so until the e-mail is verified, however long that takes.
            (OneTimeCode, sa.and_(OneTimeCode.updated_at < now - CODES_KEPT, OneTimeCode.contested.is_(False))),
            (LoginAttempt, LoginAttempt.expires_at < now),
            (IdempotencyKey, IdempotencyKey.expires_at < now),
        )
    )
