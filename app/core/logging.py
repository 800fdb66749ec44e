"""How log lines are written: for people on a console, or as JSON; never with a secret in them."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

_SECRET_NAME = re.compile(r"(password|token|secret|authorization|cookie|api_?key|otp|code_verifier)", re.IGNORECASE)


def configure(form: str, level: str) -> None:
    """Set up structlog and let the standard library's loggers write through it."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        redact,
    ]
    # Plain tracebacks: the decorated ones print local variables, and those hold secrets.
    plain = structlog.dev.plain_traceback
    last: Any = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)
    if form == "json":
        shared.append(structlog.processors.format_exc_info)
        last = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last]
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for noisy in ("procrastinate", "urllib3", "botocore", "alembic"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace the values of keys that sound like secrets."""
    for key in event:
        if _SECRET_NAME.search(key):
            event[key] = "[redacted]"
    return event
