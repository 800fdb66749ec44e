"""Connection options of Redis. Timeouts are short because every use of Redis is optional."""

TIMEOUT_S = 0.25
TIMEOUTS = {"socket_connect_timeout": TIMEOUT_S, "socket_timeout": TIMEOUT_S}
RETRY_AFTER_S = 5.0
"""The time without calls after a failure."""
