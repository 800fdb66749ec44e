"""The exceptions of Redis. Only the modules that call Redis import its client, because the import takes 0.1 s."""

from redis.exceptions import RedisError

CONNECTION_ERRORS = (RedisError, OSError)
"""The exceptions of an unavailable server."""
