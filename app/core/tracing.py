"""Spans of what a process does, sent as OTLP where `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector; nothing else.

OpenTelemetry is an extra: it is imported when tracing is switched on and not before. Spans carry closed names and
statements without their values; no address beyond its host, no header, no message of an error.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_PATH = "/v1/traces"

log = structlog.get_logger(__name__)


class Tracer:
    """OpenTelemetry's tracer of this process; None of it is there while tracing is off."""

    def __init__(self) -> None:
        self._tracer: Any = None
        self._provider: Any = None

    @property
    def is_on(self) -> bool:
        """Whether spans are kept."""
        return self._tracer is not None

    @property
    def is_within(self) -> bool:
        """Whether a span is running: what a worker does between jobs is of nobody's trace."""
        if self._tracer is None:
            return False
        from opentelemetry.trace import get_current_span

        return bool(get_current_span().get_span_context().is_valid)

    def start(self) -> None:
        """Switch tracing on where a collector is named and OpenTelemetry is installed; a second time does nothing."""
        endpoint = os.environ.get(ENDPOINT, "").strip()
        if not endpoint or self.is_on:
            return
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            log.warning("tracing.not_installed", advice="pip install -r requirements-otel.txt")
            return
        name = os.environ.get("OTEL_SERVICE_NAME") or "galley"
        self._provider = TracerProvider(resource=Resource.create({"service.name": name}), shutdown_on_exit=True)
        exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + TRACES_PATH)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("galley")

    def stop(self) -> None:
        """Send what is left and switch tracing off."""
        if self._provider is not None:
            self._provider.shutdown()
        self._tracer = self._provider = None

    @contextmanager
    def span(
        self, name: str, kind: str = "INTERNAL", cause: Mapping[str, str] | None = None, **facts: Any
    ) -> Iterator[Any]:
        """A span around what is done, within the running one or the trace that `cause` carries; None while off.

        Of an error only the kind is told.
        """
        if self._tracer is None:
            yield None
            return
        span = self.begin(name, kind, cause, **facts)
        from opentelemetry.trace import use_span

        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            except BaseException as error:
                failed(span, type(error).__name__)
                raise

    def begin(self, name: str, kind: str = "INTERNAL", cause: Mapping[str, str] | None = None, **facts: Any) -> Any:
        """A span that the caller ends; only while tracing is on."""
        from opentelemetry.trace import SpanKind

        within = _resumed(cause) if cause else None
        told = {key.replace("__", "."): value for key, value in facts.items()}
        return self._tracer.start_span(name, within, SpanKind[kind], attributes=told)

    def carried(self) -> dict[str, str]:
        """The running trace as words that another process can go on from; empty while off."""
        if self._tracer is None:
            return {}
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        words: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(words)
        return words


def failed(span: Any, kind: str) -> None:
    """Mark a span as failed, by the kind of the error only."""
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _resumed(cause: Mapping[str, str]) -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract(dict(cause))


tracer = Tracer()
