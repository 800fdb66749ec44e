"""Metrics in the format of Prometheus: requests of all workers, and numbers of the database.

Workers store their counts in files of one folder (`PROMETHEUS_MULTIPROC_DIR`, set by gunicorn.conf.py), so that each of
them can report all.
"""

import hmac
import os
from collections.abc import Iterator, Mapping

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY, Collector

from app.core.errors import NotFound, PermissionDenied
from app.resources.system.queries import DatabaseMetrics, QueueCounter, database_metrics


def exposition(authorization: str | None, token: str | None, jobs: QueueCounter) -> bytes:
    """Return all metrics as text.

    Raises:
        NotFound: no token is configured, so there are no metrics.
        PermissionDenied: the bearer token is wrong.
    """
    if token is None:
        raise NotFound("This URL does not exist")
    if not hmac.compare_digest((authorization or "").encode(), f"Bearer {token}".encode()):
        raise PermissionDenied("Send the metrics token as a bearer token")
    return generate_latest(_registry(jobs))


def _registry(jobs: QueueCounter) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REGISTRY)
    registry.register(_DatabaseCollector(jobs))
    return registry


class _DatabaseCollector(Collector):
    """A collector of the numbers in the database. If it is down, only the other metrics are reported."""

    def __init__(self, jobs: QueueCounter) -> None:
        self._jobs = jobs

    def collect(self) -> Iterator[Metric]:
        """Read the numbers and yield them as metrics."""
        try:
            metrics = database_metrics(self._jobs)
        except sa.exc.SQLAlchemyError:
            yield _gauge("galley_database_up", "Whether the database answers", 0)
        else:
            yield _gauge("galley_database_up", "Whether the database answers", 1)
            yield from _gauges(metrics)


def _gauges(metrics: DatabaseMetrics) -> Iterator[Metric]:
    counts = metrics.queue
    queue = {state: getattr(counts, state) for state in ("waiting", "running", "failed", "dead")}
    yield _gauge("galley_jobs", "Background jobs by state", queue)
    yield _gauge("galley_job_lag_seconds", "How long the oldest due job has been waiting", counts.lag_s)
    if counts.heartbeat_age_s is not None:
        yield _gauge(
            "galley_worker_seen_seconds", "Seconds since the last heartbeat of a worker", counts.heartbeat_age_s
        )
    yield _gauge("galley_indexes", "Content indexes by state", metrics.indexes)
    yield _gauge(
        "galley_index_lag_seconds", "How long the oldest index that is not ready has been so", metrics.index_lag_s
    )
    yield _gauge("galley_sandboxes", "Live sandboxes by state", metrics.sandboxes)
    yield _gauge(
        "galley_ai_tokens_today",
        "Tokens of the operator's key used and reserved on this day (UTC)",
        metrics.ai_tokens_today,
    )


def _gauge(name: str, description: str, value: float | Mapping[str, float]) -> GaugeMetricFamily:
    """Return a metric with one number, or with one number per state."""
    if not isinstance(value, Mapping):
        return GaugeMetricFamily(name, description, value)
    family = GaugeMetricFamily(name, description, labels=["state"])
    for state, number in value.items():
        family.add_metric([state], number)
    return family
