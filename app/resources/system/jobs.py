"""Jobs of the service: mails without secrets, and the deletion of expired rows.

The packages that create codes and links send the mails that contain them.
"""

from datetime import timedelta

import sqlalchemy as sa
from jinja2 import TemplateNotFound, UndefinedError

from app.core.jobs import PermanentFailure, job
from app.core.limits import TokenLimits
from app.drivers.errors import UpstreamRejected
from app.drivers.mail.port import Mail, MailTransport
from app.models.base import utcnow_ms
from app.models.change_set import Notice
from app.models.login import ApiToken, LoginAttempt, OneTimeCode, Session
from app.models.request import IdempotencyKey, RateEvent
from app.models.second_factor import SecondFactorChallenge, TrustedDevice
from app.resources.system import mail_templates, retention

CODE_RETENTION = timedelta(days=1)
"""The longest window of the rates of mailed codes (limits, section 1: Codes)."""
TOKEN_RETENTION = timedelta(seconds=TokenLimits.retention_s)
"""The time in which an expired API token is listed and can be rotated."""
LONGEST_RATE = timedelta(days=1)
NOTICE_RETENTION = timedelta(days=90)
MAIL_RETRIES = 200
"""About a day.

The back-off ends at 15 minutes, half of which is the mean pause. A day is shorter than an invitation.
"""


@job("mail.send", retries=MAIL_RETRIES, uses=("mail",), priority=5)
def send(*, to: str, template: str, mail: MailTransport, language: str = "en", **values: object) -> None:
    """Send the mail `template` (a name of `app.resources.system.mail_templates`) in a language.

    Raises:
        PermanentFailure: the template does not exist, a value is missing, or the address is rejected.
    """
    try:
        deliver(mail, to, template, language, **values)
    except UpstreamRejected as error:
        raise PermanentFailure(str(error)) from error
    except (TemplateNotFound, UndefinedError) as error:
        raise PermanentFailure(f"The mail {template} cannot be sent: {type(error).__name__}") from error


def deliver(mail: MailTransport, to: str, template: str, language: str, /, **values: object) -> None:
    """Render a mail and send it. `settings_url` is the page on which the recipient chooses such mails.

    `reply_to` is the address that receives the answers.
    """
    rendered = mail_templates.render(template, language, **values)
    headers = {"unsubscribe_url": "settings_url", "reply_to": "reply_to"}
    more = {field: str(values.get(name, "")) for field, name in headers.items()}
    mail.send(Mail(to, rendered.subject, rendered.text, rendered.html, **more))


@job("system.purge", every=timedelta(hours=1), retries=2)
def purge() -> int:
    """Delete expired sessions, codes, login attempts, stored responses, API tokens, notices and rate events.

    Returns their number.
    """
    now = utcnow_ms()
    expired = sa.or_(Session.expires_at < now, Session.idle_expires_at < now)
    return sum(
        retention.purge(model, where)
        for model, where in (
            (Session, expired),
            # A contested code is needed until the e-mail address is verified.
            (OneTimeCode, sa.and_(OneTimeCode.updated_at < now - CODE_RETENTION, OneTimeCode.contested.is_(False))),
            (LoginAttempt, LoginAttempt.expires_at < now),
            (SecondFactorChallenge, SecondFactorChallenge.expires_at < now),
            (TrustedDevice, TrustedDevice.expires_at < now),
            (IdempotencyKey, IdempotencyKey.expires_at < now),
            (ApiToken, ApiToken.expires_at < now - TOKEN_RETENTION),
            (Notice, Notice.created_at < now - NOTICE_RETENTION),
            (RateEvent, RateEvent.created_at < now - LONGEST_RATE),
        )
    )
