"""What a host says of its rate limits."""

import time

import pytest

from app.drivers.errors import Throttled
from app.drivers.git.rate import KEPT, RateBudgets, refused_for_s
from app.drivers.http import Answer


def answer(status: int, body: bytes = b"", **headers: object) -> Answer:
    return Answer(status, {name.replace("_", "-"): str(value) for name, value in headers.items()}, body)


class TestRefusedForS:
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
    def test_only_refusals_for_rate_name_a_wait(self, told: Answer, wait_s: int | None) -> None:
        assert refused_for_s(told) == wait_s

    @pytest.mark.parametrize("prefix", ["X-", ""])
    def test_exhausted_budget_waits_for_its_reset(self, prefix: str) -> None:
        headers = {f"{prefix}RateLimit-Remaining": 0, f"{prefix}RateLimit-Reset": int(time.time()) + 300}
        assert refused_for_s(answer(403, **headers)) in (299, 300)


class TestRateBudgets:
    def test_used_up_token_is_refused_until_its_reset_and_others_are_not(self) -> None:
        budgets = RateBudgets()
        budgets.observe("a", answer(200, **{"X-RateLimit-Remaining": 0, "X-RateLimit-Reset": int(time.time()) + 300}))
        with pytest.raises(Throttled) as told:
            budgets.check("a")
        assert 298 <= told.value.retry_after_s <= 300
        budgets.check("b")

    def test_reset_in_the_past_refuses_nothing(self) -> None:
        budgets = RateBudgets()
        budgets.observe("a", answer(200, **{"X-RateLimit-Remaining": 0, "X-RateLimit-Reset": int(time.time()) - 1}))
        budgets.check("a")

    def test_answer_without_a_limit_changes_nothing(self) -> None:
        budgets = RateBudgets()
        budgets.observe("a", answer(429, Retry_After=30))
        budgets.observe("a", answer(200, **{"X-RateLimit-Remaining": 4999}))
        with pytest.raises(Throttled):
            budgets.check("a")

    def test_only_so_many_tokens_are_kept(self) -> None:
        budgets = RateBudgets()
        for number in range(KEPT + 1):
            budgets.observe(str(number), answer(429, Retry_After=30))
        budgets.check("0")
        with pytest.raises(Throttled):
            budgets.check(str(KEPT))
