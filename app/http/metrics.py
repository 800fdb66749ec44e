"""How the service does, for Prometheus: requests counted by every worker, queue and indexes read when asked.

Workers keep their counts in files of one folder (`PROMETHEUS_MULTIPROC_DIR`, set by gunicorn.conf.py), so that any of
them answers for all.
"""

import hmac
import os
import time
from collections.abc import Iterator, Mapping
from functools import cache, partial

import sqlalchemy as sa
from flask import Flask, Response, current_app, g, request
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY, Collector

from app.core.errors import NotAllowed, NotFound
from app.core.metrics import POOL, REQUEST_SECONDS, REQUESTS, method_of
from app.extensions import db
from app.models.ai_usage import AiBudget
from app.models.base import moment
from app.models.project_content import ContentIndex, IndexStatus
from app.models.sandbox import LIVE, Sandbox

BEHIND = (IndexStatus.QUEUED, IndexStatus.INDEXING, IndexStatus.STALE)
_SANDBOXES = sa.select(Sandbox.state, sa.func.count()).where(Sandbox.state.in_(LIVE)).group_by(Sandbox.state)


def init_app(app: Flask) -> None:
    """Count every answer."""
    with app.app_context():
        engines = {"writing": db.engine, "reading": app.extensions["reading_engine"]}
    app.after_request(partial(_count, [(POOL.labels(name), engine) for name, engine in engines.items()]))


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


# Found once: looking labels up with every request costs more than counting.
_requests, _seconds = cache(REQUESTS.labels), cache(REQUEST_SECONDS.labels)


def _count(pools: list[tuple[Gauge, sa.Engine]], response: Response) -> Response:
    route = str(request.url_rule or "-")
    _requests(method_of(request.method), route, response.status_code).inc()
    started_s: float | None = g.get("started_s")
    if started_s is not None:
        _seconds(route).observe(time.perf_counter() - started_s)
    for taken, engine in pools:
        taken.set(getattr(engine.pool, "checkedout", int)())
    return response


class _Stores(Collector):
    """What the database knows: how full the queue is, and how the indexes are."""

    def collect(self) -> Iterator[Metric]:
        """Read it; a database that is down leaves these out, the counts of requests are still told."""
        try:
            yield from _read()
        except sa.exc.SQLAlchemyError:
            yield _gauge("galley_database_up", "Whether the database answers", 0)


def _read() -> Iterator[Metric]:
    now = moment()
    with db.engine.connect() as connection:
        counts = current_app.extensions["jobs"].counts(connection)
        states = connection.execute(sa.select(ContentIndex.status, sa.func.count()).group_by(ContentIndex.status)).all()
        behind = connection.scalar(
            sa.select(sa.func.min(ContentIndex.updated_at)).where(ContentIndex.status.in_(BEHIND))
        )
        sandboxes = connection.execute(_SANDBOXES).all()
        tokens = connection.scalar(sa.select(sa.func.sum(AiBudget.tokens)).where(AiBudget.day == now.date()))
    yield _gauge("galley_database_up", "Whether the database answers", 1)
    queue = {state: getattr(counts, state) for state in ("waiting", "running", "dead")}
    yield _gauge("galley_jobs", "Background jobs by state", queue)
    yield _gauge("galley_job_lag_seconds", "How long the oldest due job has been waiting", counts.lag_s)
    if counts.worker_seen_s is not None:
        yield _gauge("galley_worker_seen_seconds", "How long ago a worker gave a sign of life", counts.worker_seen_s)
    yield _gauge("galley_indexes", "Content indexes by state", {str(name): number for name, number in states})
    lag_s = 0.0 if behind is None else max(0.0, (now - behind).total_seconds())
    yield _gauge("galley_index_lag_seconds", "How long the oldest index that is not ready has been so", lag_s)
    live = dict.fromkeys(map(str, LIVE), 0) | {str(name): number for name, number in sandboxes}
    yield _gauge("galley_sandboxes", "Live sandboxes by state", live)
    yield _gauge(
        "galley_ai_tokens_today", "Tokens of the operator's key used and reserved on this day (UTC)", tokens or 0
    )


def _gauge(name: str, told: str, value: float | Mapping[str, float]) -> GaugeMetricFamily:
    """A number, or one a state."""
    if not isinstance(value, Mapping):
        return GaugeMetricFamily(name, told, value)
    family = GaugeMetricFamily(name, told, labels=["state"])
    for state, number in value.items():
        family.add_metric([state], number)
    return family
