"""Configuration of the logs: console or JSON format, without secrets."""

import json
import logging
import re
import sys
from collections.abc import Callable, MutableMapping
from functools import lru_cache

import orjson
import structlog
from structlog.typing import Processor

from app.observability.correlation import TRACESTATE
from app.observability.masking import mask_credentials

_SECRET_NAME = re.compile(r"(password|token|secret|authorization|cookie|api_?key|otp|code_verifier)", re.IGNORECASE)


def configure(log_format: str, level: str, *, is_final: bool = False) -> None:
    """Configure structlog and route the standard library's loggers through it.

    With `is_final`, each logger reads the configuration at its first line only.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        redact,
        omit_tracestate,
        *(() if log_format == "json" else (mask_urls,)),
    ]
    # Plain tracebacks: rich tracebacks print local variables, which may hold secrets.
    formatter = structlog.dev.plain_traceback
    renderer: Processor = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=formatter)
    output: list[Processor] = [structlog.stdlib.ProcessorFormatter.wrap_for_formatter]
    factory: Callable[..., object] = structlog.stdlib.LoggerFactory()
    if log_format == "json":
        shared.append(structlog.processors.format_exc_info)
        shared.append(mask_urls)
        renderer = structlog.processors.JSONRenderer(serializer=_to_json)
        # A record of the standard library costs several times as much as the line.
        output, factory = [renderer], structlog.WriteLoggerFactory(sys.stderr)
    structlog.configure(
        processors=[*shared, *output],
        logger_factory=factory,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        cache_logger_on_first_use=is_final,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for noisy in ("procrastinate", "urllib3", "botocore", "alembic", "markdown_it"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


def _to_json(event: MutableMapping[str, object], default: Callable[[object], object]) -> str:
    """Return a log line. The standard library serializes what orjson refuses: lone surrogates and large integers."""
    try:
        return orjson.dumps(event, default=default, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return json.dumps(event, default=default)


def redact(_logger: object, _method: str, event: MutableMapping[str, object]) -> MutableMapping[str, object]:
    """Replace the values of keys whose names suggest a secret."""
    for key in event:
        if _is_secret(key):
            event[key] = "[redacted]"
    return event


def mask_urls(_logger: object, _method: str, event: MutableMapping[str, object]) -> MutableMapping[str, object]:
    """Mask the credentials of URLs in text, such as the message of an error of a client library."""
    for key, value in event.items():
        if isinstance(value, str) and "://" in value:
            event[key] = mask_credentials(value)
    return event


def omit_tracestate(_logger: object, _method: str, event: MutableMapping[str, object]) -> MutableMapping[str, object]:
    """Remove the part of the bound trace that other systems write."""
    event.pop(TRACESTATE, None)
    return event


@lru_cache(1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None
