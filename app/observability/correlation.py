"""Propagation of the request id and the trace from a request to its outbound calls and to the jobs that it enqueues."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import Protocol

import structlog

from app.observability.tracing import tracer

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
MAX_STATE_LENGTH, MAX_STATE_MEMBERS = 512, 32
KNOWN_FLAGS = 0x03
"""Sampled, and random trace id."""

_PARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_MEMBER = re.compile(r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]")
REQUEST_ID = "request_id"


@dataclass(frozen=True)
class TraceContext:
    """A position in a trace. `state` is the `tracestate` of other systems."""

    trace_id: str
    span_id: str
    flags: str = "00"
    state: str = ""

    def headers(self) -> dict[str, str]:
        """Return the headers of a call that continues the trace."""
        parent = {TRACEPARENT: f"00-{self.trace_id}-{self.span_id}-{self.flags}"}
        return parent | ({TRACESTATE: self.state} if self.state else {})

    def child(self) -> "TraceContext":
        """Return the same trace with a new span id."""
        return TraceContext(self.trace_id, token_hex(8), self.flags, self.state)

    def bound(self) -> dict[str, str]:
        """Return the log values of the context. Logs omit `tracestate`, whose text other systems choose."""
        return {
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "trace_flags": self.flags,
            TRACESTATE: self.state,
        }


class HeaderReader(Protocol):
    """Received headers or stored values."""

    def get(self, name: str, default: str, /) -> str:
        """Return a value."""


def parse_trace(headers: HeaderReader) -> TraceContext | None:
    """Return the context of received headers, or None if `traceparent` is missing or invalid.

    An invalid `tracestate` is omitted. Later versions may have additional fields at the end.
    """
    match = _PARENT.fullmatch(headers.get(TRACEPARENT, ""))
    if match is None or (match[1] == "00" and match[5] is not None):
        return None
    flags = f"{int(match[4], 16) & KNOWN_FLAGS:02x}"
    return TraceContext(match[2], match[3], flags, _valid_state(headers.get(TRACESTATE, "")))


def current_trace() -> TraceContext | None:
    """Return the context of the running request or job."""
    values = structlog.contextvars.get_contextvars()
    if "trace_id" not in values:
        return None
    return TraceContext(values["trace_id"], values["span_id"], values["trace_flags"], values[TRACESTATE])


def _valid_state(text: str) -> str:
    members = [member.strip(" \t") for member in text.split(",")] if len(text) <= MAX_STATE_LENGTH else []
    members = [member for member in members if member]
    is_valid = len(members) <= MAX_STATE_MEMBERS and all(map(_MEMBER.fullmatch, members))
    return ",".join(members) if is_valid else ""


def inject_context() -> dict[str, str]:
    """Return the present request id and trace, for storage with a job call."""
    request_id = structlog.contextvars.get_contextvars().get(REQUEST_ID)
    return ({REQUEST_ID: str(request_id)} if request_id else {}) | trace_headers()


def trace_headers() -> dict[str, str]:
    """Return the active trace as headers of an outbound call or a response. Empty without a trace."""
    if tracer.is_on:
        return tracer.trace_headers()
    context = current_trace()
    return context.headers() if context else {}


@contextmanager
def restore_context(cause: Mapping[str, str], name: str) -> Iterator[None]:
    """Bind the stored request id and trace to all log lines, and continue the trace in a new span."""
    bound = {REQUEST_ID: cause[REQUEST_ID]} if REQUEST_ID in cause else {}
    received = parse_trace(cause)
    with tracer.span(name, "CONSUMER", received.headers() if received else None):
        context = present_context(received)
        with structlog.contextvars.bound_contextvars(**bound, **(context.bound() if context else {})):
            yield


def present_context(received: TraceContext | None) -> TraceContext | None:
    """Return the context of the active span. Without OpenTelemetry, it is a new span of the received trace."""
    if tracer.is_on:
        return parse_trace(tracer.trace_headers())
    return received.child() if received else None
