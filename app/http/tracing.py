"""Traces: one span per request and one per statement."""

from typing import Any

import sqlalchemy as sa
import structlog
from flask import Flask, Response, g, request
from sqlalchemy import event

from app.extensions import db
from app.observability import correlation
from app.observability.correlation import TraceContext
from app.observability.metrics import method_of
from app.observability.tracing import mark_failed, tracer


def init_app(app: Flask) -> None:
    """Register the hooks if tracing is enabled."""
    tracer.start()
    if not tracer.is_on:
        return
    app.before_request(_begin)
    app.after_request(_note)
    app.teardown_request(_end)
    with app.app_context():
        for engine in (db.engine, app.extensions["reading_engine"]):
            event.listen(engine, "before_cursor_execute", _before)
            event.listen(engine, "after_cursor_execute", _after)
            event.listen(engine, "handle_error", _broken)


def _begin() -> None:
    from opentelemetry.trace import use_span

    method = method_of(request.method)
    route = str(request.url_rule or "-")
    attributes = {"http.request.method": method, "http.route": route, "galley.request_id": g.get("request_id", "")}
    received: TraceContext | None = g.get("trace_parent")
    g.span = tracer.begin(f"{method} {route}", "SERVER", received.headers() if received else None, **attributes)
    g.span_use = use_span(g.span, record_exception=False, set_status_on_exception=False)
    g.span_use.__enter__()
    if context := correlation.present_context(received):
        structlog.contextvars.bind_contextvars(**context.bound())


def _note(response: Response) -> Response:
    if "span" in g:
        g.span.set_attribute("http.response.status_code", response.status_code)
        if response.status_code >= 500:
            mark_failed(g.span, str(response.status_code))
    return response


def _end(_error: BaseException | None) -> None:
    span, use = g.pop("span", None), g.pop("span_use", None)
    if span is not None:
        use.__exit__(None, None, None)
        span.end()


def _before(_connection: object, _cursor: object, statement: str, _values: object, context: Any, _many: bool) -> None:
    if context is not None and tracer.is_in_span:
        operation = statement.split(None, 1)[0].upper() if statement.strip() else "SQL"
        context.span = tracer.begin(
            operation, "CLIENT", **{"db.system": context.dialect.name, "db.query.text": statement}
        )


def _after(
    _connection: object, _cursor: object, _statement: str, _values: object, context: object, _many: bool
) -> None:
    _finish(context)


def _broken(context: sa.engine.ExceptionContext) -> None:
    span = getattr(context.execution_context, "span", None)
    if span is not None:
        mark_failed(span, type(context.original_exception).__name__)
    _finish(context.execution_context)


def _finish(context: Any) -> None:
    span = getattr(context, "span", None)
    if span is not None:
        context.span = None
        span.end()
