"""How the service does, for Prometheus: requests counted by every worker, queue and indexes read when asked.

Workers keep their counts in files of one folder (`PROMETHEUS_MULTIPROC_DIR`, set by gunicorn.conf.py), so that any of
them answers for all.
"""

import hmac
import os
import time
from collections.abc import Iterator

import sqlalchemy as sa
from flask import Flask, Response, current_app, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY, Collector

from app.core.errors import NotAllowed, NotFound
from app.extensions import db
from app.models.project_content import ContentIndex

REQUESTS = Counter("galley_requests", "Requests answered", ["method", "route", "status"])
SECONDS = Histogram(
    "galley_request_seconds",
    "Time until an answer begins",
    ["route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def init_app(app: Flask) -> None:
    """Count every answer."""
    app.after_request(_count)


def exposition(authorization: str | None, token: str | None) -> Response:
    """Everything in Prometheus' text format.

    Raises:
        NotFound: no token is configured, so there are no metrics.
        NotAllowed: the bearer token is another.
    """
    if token is None:
        raise NotFound("There is nothing at this address")
    if not hmac.compare_digest((authorization or "").encode(), f"Bearer {token}".encode()):
        raise NotAllowed("Give the metrics token as a bearer token")
    return Response(generate_latest(_registry()), content_type=CONTENT_TYPE_LATEST)


def _registry() -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REGISTRY)
    registry.register(_Stores())
    return registry


def _count(response: Response) -> Response:
    route = str(request.url_rule or "-")
    REQUESTS.labels(request.method, route, response.status_code).inc()
    started_s: float | None = g.get("started_s")
    if started_s is not None:
        SECONDS.labels(route).observe(time.perf_counter() - started_s)
    return response


class _Stores(Collector):
    """What the database knows: how full the queue is, and how the indexes are."""

    def collect(self) -> Iterator[Metric]:
        """Read it; a database that is down leaves these out, the counts of requests are still told."""
        try:
            yield from _read()
        except sa.exc.SQLAlchemyError:
            yield GaugeMetricFamily("galley_database_up", "Whether the database answers", 0)


def _read() -> Iterator[Metric]:
    with db.engine.connect() as connection:
        counts = current_app.extensions["jobs"].counts(connection)
        states = connection.execute(sa.select(ContentIndex.status, sa.func.count()).group_by(ContentIndex.status)).all()
    yield GaugeMetricFamily("galley_database_up", "Whether the database answers", 1)
    queue = GaugeMetricFamily("galley_jobs", "Background jobs by state", labels=["state"])
    for state in ("waiting", "running", "dead"):
        queue.add_metric([state], getattr(counts, state))
    yield queue
    yield GaugeMetricFamily("galley_job_lag_seconds", "How long the oldest due job has been waiting", counts.lag_s)
    indexes = GaugeMetricFamily("galley_indexes", "Content indexes by state", labels=["state"])
    for status, number in states:
        indexes.add_metric([str(status)], number)
    yield indexes
    pool = db.engine.pool
    checked_out = getattr(pool, "checkedout", lambda: 0)()
    yield GaugeMetricFamily("galley_pool_in_use", "Database connections in use in this worker", checked_out)
