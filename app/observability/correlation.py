"""Propagation of the request id and the trace from a request to the jobs that it enqueues."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import structlog

from app.observability.tracing import tracer

REQUEST_ID = "request_id"


def inject_context() -> dict[str, str]:
    """Return the present request id and trace, for storage with a job call."""
    request_id = structlog.contextvars.get_contextvars().get(REQUEST_ID)
    return ({REQUEST_ID: str(request_id)} if request_id else {}) | tracer.trace_headers()


@contextmanager
def restore_context(cause: Mapping[str, str], name: str) -> Iterator[None]:
    """Bind the stored request id to all log lines and continue the stored trace in a new span."""
    bound = {REQUEST_ID: cause[REQUEST_ID]} if REQUEST_ID in cause else {}
    with structlog.contextvars.bound_contextvars(**bound), tracer.span(name, "CONSUMER", cause):
        yield
