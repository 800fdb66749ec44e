"""Counters, gauges and histograms of all processes.

Labels have fixed sets of values, so that a caller cannot create series. Gauges with `livesum` are sums over the running
processes.
"""

from prometheus_client import Counter, Gauge, Histogram

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
OTHER = "other"
SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

REQUESTS = Counter("galley_requests", "Handled requests", ["method", "route", "status"])
REQUEST_SECONDS = Histogram(
    "galley_request_seconds", "Time until the response begins", ["route"], buckets=SECONDS_BUCKETS
)
STREAMS = Gauge("galley_streams_open", "Open event streams", multiprocess_mode="livesum")
POOL = Gauge(
    "galley_pool_in_use", "Database connections in use at the last sample", ["pool"], multiprocess_mode="livesum"
)
RATE_DECISIONS = Counter("galley_rate_decisions", "Decisions of the rate limits", ["place", "decision"])
RATE_FALLBACKS = Counter("galley_rate_fallbacks", "Failed calls of the rate counter to Redis")
GIT_BUDGET = Gauge(
    "galley_git_budget_left",
    "Remaining calls of the Git host's rate limit in its last response",
    ["host"],
    multiprocess_mode="mostrecent",
)


def method_of(name: str) -> str:
    """Return the method of a request as a label. Callers may send arbitrary methods."""
    return name if name in METHODS else OTHER
