"""How Redis is used everywhere here: for what can be done without, so with little patience."""

from redis.exceptions import RedisError

TIMEOUT_S = 0.25
TIMEOUTS = {"socket_connect_timeout": TIMEOUT_S, "socket_timeout": TIMEOUT_S}
REST_S = 5.0
"""How long one that failed is left alone."""

FAILURES = (RedisError, OSError)
"""What one that is away raises."""
