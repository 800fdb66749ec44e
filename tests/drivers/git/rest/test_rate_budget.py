"""Tests of the rate limits that a host reports."""

import time

import pytest
from redis import Redis as Client

from app.drivers.errors import UpstreamThrottled
from app.drivers.git.rest.rate_board import RedisBudgets
from app.drivers.git.rest.rate_budget import MAX_ENTRIES, RateBudgets, retry_after_s
from app.drivers.http.client import HttpResponse
from tests.support.servers.redis import Redis


def answer(status: int, body: bytes = b"", **headers: object) -> HttpResponse:
    return HttpResponse(status, {name.replace("_", "-"): str(value) for name, value in headers.items()}, body)


class TestRetryAfterS:
    @pytest.mark.parametrize(
        ("told", "wait_s"),
        [
            (answer(429, Retry_After=7), 7),
            (answer(403, Retry_After=0), 1),
            (answer(429), 60),
            (answer(403, b'{"message": "You have exceeded a secondary rate limit."}'), 60),
            (answer(403, b'{"message": "Resource not accessible by integration"}'), None),
            (answer(403, **{"X-RateLimit-Remaining": 12, "X-RateLimit-Reset": 1}), None),
            (answer(404, b"rate limit"), None),
            (answer(200, **{"X-RateLimit-Remaining": 0}), None),
        ],
    )
    def test_retry_after_is_set_for_rate_refusals_only(self, told: HttpResponse, wait_s: int | None) -> None:
        assert retry_after_s(told) == wait_s

    @pytest.mark.parametrize("prefix", ["X-", ""])
    def test_retry_after_of_an_exhausted_budget_is_the_time_until_its_reset(self, prefix: str) -> None:
        headers = {f"{prefix}RateLimit-Remaining": 0, f"{prefix}RateLimit-Reset": int(time.time()) + 300}
        assert retry_after_s(answer(403, **headers)) in (299, 300)


class TestRateBudgets:
    def test_exhausted_token_is_refused_until_its_reset_and_other_tokens_are_accepted(self) -> None:
        budgets = RateBudgets()
        budgets.observe("a", answer(200, **{"X-RateLimit-Remaining": 0, "X-RateLimit-Reset": int(time.time()) + 300}))
        with pytest.raises(UpstreamThrottled) as told:
            budgets.check("a")
        assert 298 <= told.value.retry_after_s <= 300
        budgets.check("b")

    def test_budget_with_a_past_reset_is_accepted(self) -> None:
        budgets = RateBudgets()
        budgets.observe("a", answer(200, **{"X-RateLimit-Remaining": 0, "X-RateLimit-Reset": int(time.time()) - 1}))
        budgets.check("a")

    def test_response_without_a_limit_keeps_the_budget(self) -> None:
        budgets = RateBudgets()
        budgets.observe("a", answer(429, Retry_After=30))
        budgets.observe("a", answer(200, **{"X-RateLimit-Remaining": 4999}))
        with pytest.raises(UpstreamThrottled):
            budgets.check("a")

    def test_budgets_above_the_limit_evict_the_oldest_token(self) -> None:
        budgets = RateBudgets()
        for number in range(MAX_ENTRIES + 1):
            budgets.observe(str(number), answer(429, Retry_After=30))
        budgets.check("0")
        with pytest.raises(UpstreamThrottled):
            budgets.check(str(MAX_ENTRIES))

    def test_last_tenth_of_the_budget_is_refused_to_background_calls(self) -> None:
        budgets = RateBudgets()
        at = int(time.time()) + 300
        limit = {"X-RateLimit-Limit": 5000, "X-RateLimit-Reset": at}
        budgets.observe("a", answer(200, **limit, **{"X-RateLimit-Remaining": 500}))
        budgets.check("a", background=True)
        budgets.observe("a", answer(200, **limit, **{"X-RateLimit-Remaining": 499}))
        budgets.check("a")
        with pytest.raises(UpstreamThrottled) as told:
            budgets.check("a", background=True)
        assert 298 <= told.value.retry_after_s <= 300
        budgets.observe("a", answer(200, **limit, **{"X-RateLimit-Remaining": 0}))
        with pytest.raises(UpstreamThrottled):
            budgets.check("a")


class TestRedisBudgets:
    @pytest.fixture
    def nodes(self, redis: Redis) -> tuple[RateBudgets, RateBudgets]:
        """Return the budgets of two nodes that share an empty Redis."""
        Client.from_url(redis.url).flushdb()
        return RateBudgets(RedisBudgets(redis.url)), RateBudgets(RedisBudgets(redis.url))

    def test_refusal_of_one_node_applies_to_other_nodes(self, nodes: tuple[RateBudgets, RateBudgets]) -> None:
        here, there = nodes
        here.observe("a", answer(429, Retry_After=30))
        with pytest.raises(UpstreamThrottled) as told:
            there.check("a")
        assert 28 <= told.value.retry_after_s <= 30
        there.check("b")

    def test_last_tenth_is_reserved_for_requests_on_every_node(self, nodes: tuple[RateBudgets, RateBudgets]) -> None:
        here, there = nodes
        said = {"X-RateLimit-Limit": 100, "X-RateLimit-Remaining": 9, "X-RateLimit-Reset": int(time.time()) + 60}
        here.observe("a", answer(200, **said))
        there.check("a")
        with pytest.raises(UpstreamThrottled):
            there.check("a", background=True)

    def test_budget_without_redis_applies_to_its_own_node(self) -> None:
        nowhere = RateBudgets(RedisBudgets("redis://127.0.0.1:1/0"))
        nowhere.check("a")
        nowhere.observe("a", answer(429, Retry_After=30))
        with pytest.raises(UpstreamThrottled):
            nowhere.check("a")
