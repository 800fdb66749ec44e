"""Spans of this process, exported over OTLP if `OTEL_EXPORTER_OTLP_ENDPOINT` is set.

OpenTelemetry is optional and imported only if tracing is on. Spans have fixed names and contain statements without
values. They contain the host of a URL, but no path, header or error message.
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
    """The OpenTelemetry tracer of this process. It holds no tracer while tracing is off."""

    def __init__(self) -> None:
        self._tracer: Any = None
        self._provider: Any = None

    @property
    def is_on(self) -> bool:
        return self._tracer is not None

    @property
    def is_in_span(self) -> bool:
        """Return whether a span is active. Work of a worker between jobs has no span."""
        if self._tracer is None:
            return False
        from opentelemetry.trace import get_current_span

        return bool(get_current_span().get_span_context().is_valid)

    def start(self) -> None:
        """Switch tracing on if an endpoint is set and OpenTelemetry is installed. A second call has no effect."""
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
        """Export the remaining spans and switch tracing off."""
        if self._provider is not None:
            self._provider.shutdown()
        self._tracer = self._provider = None

    @contextmanager
    def span(
        self, name: str, kind: str = "INTERNAL", cause: Mapping[str, str] | None = None, **attributes: object
    ) -> Iterator[object]:
        """Run the block in a span within the active span or the trace of `cause`. Yields None while tracing is off.

        Only the type of an error is recorded.
        """
        if self._tracer is None:
            yield None
            return
        span = self.begin(name, kind, cause, **attributes)
        from opentelemetry.trace import use_span

        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            except BaseException as error:
                mark_failed(span, type(error).__name__)
                raise

    def begin(
        self, name: str, kind: str = "INTERNAL", cause: Mapping[str, str] | None = None, **attributes: object
    ) -> Any:
        """Start a span that the caller ends. Requires that tracing is on."""
        from opentelemetry.trace import SpanKind

        parent = _extract(cause) if cause else None
        span_attributes = {key.replace("__", "."): value for key, value in attributes.items()}
        return self._tracer.start_span(name, parent, SpanKind[kind], attributes=span_attributes)

    def trace_headers(self) -> dict[str, str]:
        """Return the active trace as headers for another process. The result is empty while tracing is off."""
        if self._tracer is None:
            return {}
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        headers: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(headers)
        return headers


def mark_failed(span: Any, kind: str) -> None:
    """Mark a span as failed with the type of the error."""
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _extract(cause: Mapping[str, str]) -> object:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract(dict(cause))


tracer = Tracer()
