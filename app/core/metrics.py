"""Every number that processes count while they work, by name; knows neither HTTP nor tables.

Labels hold closed words only, so that no caller can make series. Gauges with `livesum` add up over the processes that live.
"""

from prometheus_client import Counter, Gauge, Histogram

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
OTHER = "other"
SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

REQUESTS = Counter("galley_requests", "Requests answered", ["method", "route", "status"])
REQUEST_SECONDS = Histogram("galley_request_seconds", "Time until an answer begins", ["route"], buckets=SECONDS_BUCKETS)
STREAMS = Gauge("galley_streams_open", "Streams of events that are being written", multiprocess_mode="livesum")
POOL = Gauge(
    "galley_pool_in_use", "Database connections in use when last looked at", ["pool"], multiprocess_mode="livesum"
)
RATE_DECISIONS = Counter("galley_rate_decisions", "Events the rate limits let pass or refused", ["place", "decision"])
RATE_FALLBACKS = Counter("galley_rate_fallbacks", "How often Redis did not answer the rate counter")
GIT_BUDGET = Gauge(
    "galley_git_budget_left",
    "Calls left of the Git host's limit, by the answer that told it last",
    ["host"],
    multiprocess_mode="mostrecent",
)


def method_of(name: str) -> str:
    """A request's method as a label: callers may send any word."""
    return name if name in METHODS else OTHER
