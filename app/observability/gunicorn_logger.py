"""The logger class of gunicorn, without the secrets that URLs contain."""

import logging
import re

from gunicorn.glogging import Logger

SECRET_PARAMETERS = ("preview_token", "token", "code", "state")
_SECRET = re.compile(rf"\b({'|'.join(SECRET_PARAMETERS)})=[^&\s\"'\\#]+", re.IGNORECASE)


class RedactingFilter(logging.Filter):
    """A filter that redacts the complete message of each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record."""
        record.msg, record.args = _SECRET.sub(r"\1=***", record.getMessage()), ()
        return True


class RedactingLogger(Logger):
    """gunicorn's error and access log with redacted messages."""

    def setup(self, cfg: object) -> None:
        """Configure both logs."""
        super().setup(cfg)  # type: ignore[no-untyped-call]
        for log in (self.error_log, self.access_log):
            for existing in [condition for condition in log.filters if isinstance(condition, RedactingFilter)]:
                log.removeFilter(existing)
            log.addFilter(RedactingFilter())
