"""Propagation of the request id and the trace from a request to its outbound calls and to the jobs that it enqueues."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import structlog

from app.observability import trace_context
from app.observability.trace_context import TraceContext
from app.observability.tracing import tracer

REQUEST_ID = "request_id"


def inject_context() -> dict[str, str]:
    """Return the present request id and trace, for storage with a job call."""
    request_id = structlog.contextvars.get_contextvars().get(REQUEST_ID)
    return ({REQUEST_ID: str(request_id)} if request_id else {}) | trace_headers()


def trace_headers() -> dict[str, str]:
    """Return the active trace as headers of an outbound call or a response. Empty without a trace."""
    if tracer.is_on:
        return tracer.trace_headers()
    context = trace_context.current()
    return context.headers() if context else {}


@contextmanager
def restore_context(cause: Mapping[str, str], name: str) -> Iterator[None]:
    """Bind the stored request id and trace to all log lines, and continue the trace in a new span."""
    bound = {REQUEST_ID: cause[REQUEST_ID]} if REQUEST_ID in cause else {}
    received = trace_context.parse(cause)
    with tracer.span(name, "CONSUMER", received.headers() if received else None):
        context = present_context(received)
        with structlog.contextvars.bound_contextvars(**bound, **(context.bound() if context else {})):
            yield


def present_context(received: TraceContext | None) -> TraceContext | None:
    """Return the context of the active span. Without OpenTelemetry, it is a new span of the received trace."""
    if tracer.is_on:
        return trace_context.parse(tracer.trace_headers())
    return received.child() if received else None
