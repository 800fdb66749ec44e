"""Rates: numbers of events per sliding window, and the table of rate limits."""

from dataclasses import dataclass

MINUTE, HOUR, DAY = 60, 3600, 86400
EXPLICIT_ROWS = frozenset({"forget_password", "sandbox_create"})
"""Rows that a route counts itself, because the body decides which account is counted or whether a sandbox starts."""


@dataclass(frozen=True)
class Rate:
    """At most `times` in a sliding window of `per_s` seconds. `RATE_LIMIT_SCALE` does not change a fixed rate."""

    times: int
    per_s: int
    is_fixed: bool = False

    def scaled(self, scale: float) -> "Rate":
        """Return the rate with `RATE_LIMIT_SCALE` applied to its number of events, at least one."""
        return self if self.is_fixed else Rate(max(1, round(self.times * scale)), self.per_s)


@dataclass(frozen=True)
class RateLimits:
    """The rate-limit table. Rows with `_address` count a client address, the other rows a user or account."""

    sign_in_failures: tuple[Rate, ...] = (Rate(10, 15 * MINUTE),)
    sign_in_failures_account: tuple[Rate, ...] = (Rate(100, 15 * MINUTE),)
    sign_in_failures_address: tuple[Rate, ...] = (Rate(30, 15 * MINUTE),)
    sign_in_address: tuple[Rate, ...] = (Rate(120, 15 * MINUTE),)
    sign_up_address: tuple[Rate, ...] = (Rate(30, HOUR),)
    verify_address: tuple[Rate, ...] = (Rate(30, 15 * MINUTE),)
    forget_password: tuple[Rate, ...] = (Rate(3, HOUR),)
    forget_password_address: tuple[Rate, ...] = (Rate(20, HOUR),)
    reset_address: tuple[Rate, ...] = (Rate(30, 15 * MINUTE),)
    callback_address: tuple[Rate, ...] = (Rate(30, 15 * MINUTE),)
    passkey_address: tuple[Rate, ...] = (Rate(240, 15 * MINUTE),)
    signed_in: tuple[Rate, ...] = (Rate(600, MINUTE),)
    writes: tuple[Rate, ...] = (Rate(120, MINUTE),)
    token: tuple[Rate, ...] = (Rate(600, MINUTE),)
    token_writes: tuple[Rate, ...] = (Rate(120, MINUTE),)
    token_create: tuple[Rate, ...] = (Rate(30, HOUR),)
    review_link_create: tuple[Rate, ...] = (Rate(30, HOUR),)
    git_failures_address: tuple[Rate, ...] = (Rate(30, 15 * MINUTE),)
    signed_in_address: tuple[Rate, ...] = (Rate(3000, MINUTE),)
    anonymous_address: tuple[Rate, ...] = (Rate(60, MINUTE),)
    readiness_address: tuple[Rate, ...] = (Rate(600, MINUTE),)
    media_address: tuple[Rate, ...] = (Rate(3000, MINUTE),)
    webhook_address: tuple[Rate, ...] = (Rate(3000, MINUTE),)
    organization_create: tuple[Rate, ...] = (Rate(10, HOUR),)
    invite: tuple[Rate, ...] = (Rate(20, HOUR), Rate(50, DAY))
    project_create: tuple[Rate, ...] = (Rate(20, HOUR),)
    upload: tuple[Rate, ...] = (Rate(20, MINUTE),)
    upload_address: tuple[Rate, ...] = (Rate(60, MINUTE),)
    upload_bytes: tuple[Rate, ...] = (Rate(200 * 1024 * 1024, DAY),)
    provider_exchange: tuple[Rate, ...] = (Rate(10, 15 * MINUTE),)
    provider_refresh: tuple[Rate, ...] = (Rate(30, HOUR),)
    ai_copilot: tuple[Rate, ...] = (Rate(60, MINUTE),)
    ai: tuple[Rate, ...] = (Rate(20, MINUTE), Rate(2000, DAY))
    sandbox_create: tuple[Rate, ...] = (Rate(10, HOUR),)
    sandbox_heartbeat: tuple[Rate, ...] = (Rate(6, MINUTE),)
    sandbox_stop: tuple[Rate, ...] = (Rate(30, MINUTE),)
    preview: tuple[Rate, ...] = (Rate(6000, MINUTE),)
    preview_address: tuple[Rate, ...] = (Rate(600, MINUTE),)
    billing: tuple[Rate, ...] = (Rate(10, HOUR),)
    billing_address: tuple[Rate, ...] = (Rate(40, HOUR),)
