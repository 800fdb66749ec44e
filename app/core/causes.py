"""What ties the log lines and spans of one cause together, from a request through the jobs that follow from it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import structlog

from app.core.tracing import tracer

REQUEST_ID = "request_id"


def carried() -> dict[str, str]:
    """The running request's id, or the one a running job came from, and the trace; to be kept with a job's call."""
    told = structlog.contextvars.get_contextvars().get(REQUEST_ID)
    return ({REQUEST_ID: str(told)} if told else {}) | tracer.carried()


@contextmanager
def resumed(cause: Mapping[str, str], name: str) -> Iterator[None]:
    """Let every line say which request it goes back to, and go on with the trace in a span of its own."""
    known = {REQUEST_ID: cause[REQUEST_ID]} if REQUEST_ID in cause else {}
    with structlog.contextvars.bound_contextvars(**known), tracer.span(name, "CONSUMER", cause):
        yield
