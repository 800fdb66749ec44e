"""Tests of every row of the rate-limit table: the first event beyond the rate is refused.

They run with Redis, with stopped Redis and after its return. All events before the last permitted one are counted
directly. The last permitted one and the next one are requests.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from ipaddress import IPv4Address
from random import randrange
from typing import Any

import pytest
from flask import Flask

from app.core.rates import Rate, RateLimits
from app.http.rate_limits import short_rates
from app.rate_limiting.counter import RateCounter
from tests.resources.bucket.uploads import form
from tests.support.servers.redis import Gate, Redis
from tests.support.world import Answer, Browser, World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]


@dataclass(frozen=True)
class Request:
    """A request that a row of the rate limits counts, with or without a session."""

    method: str
    path: str
    signed_in: bool = True
    form: bool = False

    def send(self, who: Browser, address: str, body: Any = None) -> Answer:
        at = {"environ_overrides": {"REMOTE_ADDR": address}}
        if self.form:
            return who.call(self.method, self.path, **form(b"no picture"), **at)
        return who.call(self.method, self.path, None if self.method == "GET" else body or {}, **at)


REQUESTS = {
    "sign_in_address": Request("POST", "/auth/sign-in/email", signed_in=False),
    "verify_address": Request("POST", "/auth/verify-email", signed_in=False),
    "reset_address": Request("POST", "/auth/reset-password", signed_in=False),
    "callback_address": Request("GET", "/auth/callback/social_a", signed_in=False),
    "passkey_address": Request("POST", "/auth/passkey/verify-authentication", signed_in=False),
    "signed_in": Request("GET", "/auth/get-session"),
    "writes": Request("POST", "/user/check-limits"),
    "signed_in_address": Request("GET", "/auth/get-session"),
    "anonymous_address": Request("GET", "/auth/get-session", signed_in=False),
    "media_address": Request("GET", "/media/orgs/unknown.png", signed_in=False),
    "webhook_address": Request("POST", "/api/webhooks/billing", signed_in=False),
    "upload": Request("POST", "/bucket/upload", form=True),
    "upload_address": Request("POST", "/bucket/upload", form=True),
    "provider_exchange": Request("POST", "/api/auth/provider_a"),
    "ai_copilot": Request("POST", "/api/ai/copilot"),
    "ai": Request("POST", "/api/ai/command"),
    "sandbox_heartbeat": Request("POST", "/api/sandbox/heartbeat"),
    "sandbox_stop": Request("POST", "/api/sandbox/stop"),
}
BY_HAND = {"sign_in_failures", "sign_in_failures_account", "sign_in_failures_address", "forget_password"}
"""Rows that count something else than requests; each has a test of its own below."""
STORED = {
    "sign_up_address", "forget_password", "forget_password_address", "organization_create", "invite", "project_create",
    "provider_refresh", "ai", "sandbox_create", "billing", "billing_address", "token_create", "review_link_create",
}  # fmt: skip
"""Rows with rates in the database (tests/http/test_rate_events.py)."""
ELSEWHERE = {
    "git_failures_address", "readiness_address", "upload_bytes", "preview", "preview_address", "token", "token_writes",
}  # fmt: skip
"""Counted for Git clients (tests/git_http/test_access.py), in the database (tests/resources/bucket), on previews' own
addresses (tests/preview_proxy/test_middleware.py), or
for API tokens (tests/access/test_tokens.py)."""

WINDOWS = [(row, rate) for row in REQUESTS for rate in short_rates(getattr(RateLimits(), row))]


STATES = ("up", "down", "back")
CASES = [
    (state, row, rate)
    for state in STATES
    for row, rate in WINDOWS
    if state != "back" or row in ("verify_address", "writes")
]
"""A reopened gate is a property of the counter, so two rows are enough."""


@pytest.fixture(params=STATES)
def counter(request: pytest.FixtureRequest, app: Flask, redis: Redis) -> Iterator[RateCounter]:
    """Return the counter of the application, whose gate to Redis is open, closed or reopened."""
    gate, known = Gate(redis.port), app.extensions["rates"]
    app.extensions["rates"] = counter = RateCounter(
        redis_url=gate.url, retry_after_s=60.0 if request.param == "down" else 0.0
    )
    if request.param != "up":
        gate.shut()
        assert counter.try_acquire((Rate(1, 60),), "row", uuid.uuid4().hex) == 0
    if request.param == "back":
        gate.reopen()
    yield counter
    app.extensions["rates"] = known
    if request.param != "down":
        gate.shut()


@pytest.fixture
def is_refused_by_another_worker(
    redis: Redis, request: pytest.FixtureRequest, counter: RateCounter
) -> Callable[[Rate, str, str], bool]:
    """Return a check that another worker refuses the request if Redis counts, and accepts it otherwise."""
    told = request.node.callspec.params["counter"] != "down"
    other = RateCounter(redis_url=redis.url)
    return lambda rate, row, key: (other.wait_s((rate,), row, key) > 0) == told


def unused_address() -> str:
    """Return an address that no other test uses."""
    return str(IPv4Address(0x0A000000 + randrange(2**24)))


def fill(counter: RateCounter, rate: Rate, row: str, key: str) -> None:
    """Count all but the last event of a window."""
    for _ in range(rate.times - 1):
        assert counter.try_acquire((rate,), row, key) == 0


def refused(answer: Answer, rate: Rate) -> bool:
    if answer.status != 429:
        return False
    assert 1 <= int(answer.headers["Retry-After"]) <= rate.per_s
    return True


class TestTable:
    def test_rows_of_the_table_are_all_tested(self) -> None:
        assert {field.name for field in fields(RateLimits)} == set(REQUESTS) | BY_HAND | STORED | ELSEWHERE


class TestRows:
    @pytest.mark.parametrize(
        ("counter", "row", "rate"),
        CASES,
        indirect=["counter"],
        ids=lambda value: f"{value.per_s}s" if isinstance(value, Rate) else value,
    )
    def test_event_beyond_the_rate_receives_429(
        self,
        world: World,
        counter: RateCounter,
        is_refused_by_another_worker: Callable[..., bool],
        row: str,
        rate: Rate,
    ) -> None:
        request, address = REQUESTS[row], unused_address()
        who = world.person() if request.signed_in else world.anonymous()
        key = address if row.endswith("_address") else getattr(who, "id", "")
        fill(counter, rate, row, key)
        assert not refused(request.send(who, address), rate)
        assert refused(request.send(who, address), rate)
        assert is_refused_by_another_worker(rate, row, key)
        other = world.person() if request.signed_in else world.anonymous()
        assert not refused(request.send(other, unused_address()), rate)


class TestPasswordRows:
    SIGN_IN = Request("POST", "/auth/sign-in/email", signed_in=False)

    def test_wrong_passwords_of_an_account_and_address_are_limited(self, world: World, counter: RateCounter) -> None:
        [rate] = RateLimits().sign_in_failures
        address, body = (
            unused_address(),
            {"email": f"{uuid.uuid4().hex}@mail.example.org", "password": "Wrong-password-1"},
        )
        fill(counter, rate, "sign_in_failures", f"{body['email']}  {address}")
        assert self.SIGN_IN.send(world.anonymous(), address, body).status == 401
        assert refused(self.SIGN_IN.send(world.anonymous(), address, body), rate)
        assert self.SIGN_IN.send(world.anonymous(), unused_address(), body).status == 401

    def test_wrong_passwords_of_an_account_are_limited(self, world: World, counter: RateCounter) -> None:
        [rate] = RateLimits().sign_in_failures_account
        body = {"email": f"{uuid.uuid4().hex}@mail.example.org", "password": "Wrong-password-1"}
        fill(counter, rate, "sign_in_failures_account", f"{body['email']} ")
        assert self.SIGN_IN.send(world.anonymous(), unused_address(), body).status == 401
        assert refused(self.SIGN_IN.send(world.anonymous(), unused_address(), body), rate)

    def test_wrong_passwords_of_an_address_are_limited(self, world: World, counter: RateCounter) -> None:
        [rate] = RateLimits().sign_in_failures_address
        address = unused_address()
        bodies = [{"email": f"{uuid.uuid4().hex}@mail.example.org", "password": "Wrong-password-1"} for _ in range(2)]
        fill(counter, rate, "sign_in_failures_address", address)
        assert self.SIGN_IN.send(world.anonymous(), address, bodies[0]).status == 401
        assert refused(self.SIGN_IN.send(world.anonymous(), address, bodies[1]), rate)
