"""Metrics of requests: their number, their duration and the used database connections."""

import time
from functools import cache, partial

import sqlalchemy as sa
from flask import Flask, Response, g, request
from prometheus_client import Gauge

from app.extensions import db
from app.observability.metrics import POOL, REQUEST_SECONDS, REQUESTS, method_of

# Cached: the lookup of labels costs more than the increment.
_requests, _seconds = cache(REQUESTS.labels), cache(REQUEST_SECONDS.labels)


def init_app(app: Flask) -> None:
    """Count each response."""
    with app.app_context():
        engines = {"writing": db.engine, "reading": app.extensions["reading_engine"]}
    app.after_request(partial(_count, [(POOL.labels(name), engine) for name, engine in engines.items()]))


def _count(pools: list[tuple[Gauge, sa.Engine]], response: Response) -> Response:
    route = str(request.url_rule or "-")
    _requests(method_of(request.method), route, response.status_code).inc()
    started_s: float | None = g.get("started_s")
    if started_s is not None:
        _seconds(route).observe(time.perf_counter() - started_s)
    for connections, engine in pools:
        connections.set(getattr(engine.pool, "checkedout", int)())
    return response
