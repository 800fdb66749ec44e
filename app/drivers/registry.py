"""Which implementation serves each kind of driver: the only module that names concrete ones.

Each is imported when it is chosen, so that a node loads no client it does not use.
"""

from typing import Any

import sqlalchemy as sa

from app.drivers.jobs.port import JobEngine
from app.drivers.mail.port import MailTransport
from config import Settings


def build(settings: Settings, engine: sa.Engine) -> dict[str, Any]:
    """Every kind of driver for these settings, by name."""
    return {
        "jobs": job_engine(engine),
        "mail": mail_transport(settings),
    }


def job_engine(engine: sa.Engine) -> JobEngine:
    """`procrastinate` on PostgreSQL, `embedded` on SQLite."""
    if engine.dialect.name == "postgresql":
        from app.drivers.jobs.procrastinate import ProcrastinateJobs

        return ProcrastinateJobs(engine)
    from app.drivers.jobs.embedded import EmbeddedJobs

    return EmbeddedJobs(engine)


def mail_transport(settings: Settings) -> MailTransport:
    """`MAIL_DRIVER`: console, file or smtp."""
    match settings.mail.driver:
        case "smtp":
            from app.drivers.mail.smtp import SmtpMail

            return SmtpMail(settings.mail.smtp_url or "", sender=settings.mail.sender)
        case "file":
            from app.drivers.mail.file import FileMail

            return FileMail(settings.mail.directory, sender=settings.mail.sender)
        case _:
            from app.drivers.mail.console import ConsoleMail

            return ConsoleMail(sender=settings.mail.sender)
