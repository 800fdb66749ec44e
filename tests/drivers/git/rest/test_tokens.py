"""Tests of token suppliers and of the retry of new tokens."""

import math
import time
from datetime import timedelta

import pytest

from app.core import clock
from app.drivers.errors import ReconnectRequired
from app.drivers.git.rest.tokens import FixedToken, ReplicationRetry, TokenSupplier, supplier_of
from app.drivers.http.client import HttpResponse


class Source:
    """A token supplier. The age of the token increases with each pause of the test."""

    def __init__(self, age_s: float = 0.0) -> None:
        self.seconds = age_s
        self.pauses: list[float] = []

    def __call__(self, rejected: str | None = None) -> str:
        return "token"

    def age_s(self, token: str) -> float:
        return self.seconds

    def accepted(self, token: str) -> None:
        raise AssertionError

    def refused(self, token: str) -> None:
        raise AssertionError

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.seconds += seconds


def send(source: Source, statuses: list[int], *, supplier: TokenSupplier | None = None, deadline_s: float = 60) -> int:
    """Send with a host that returns these statuses, the last one for every further call."""
    responses = iter(statuses)
    last = [statuses[-1]]

    def call() -> HttpResponse:
        return HttpResponse(next(responses, last[0]), {}, b"")

    retry = ReplicationRetry(sleep=source.pause)
    return retry.send(call, supplier or source, "token", time.monotonic() + deadline_s).status


class TestReplicationRetry:
    def test_new_token_is_retried_until_the_host_accepts_it(self) -> None:
        source = Source()
        assert send(source, [401, 401, 200]) == 200
        assert source.pauses == [0.2, 0.4]

    def test_new_token_is_refused_after_five_seconds(self) -> None:
        source = Source()
        assert send(source, [401]) == 401
        assert sum(source.pauses) == pytest.approx(5.0)

    def test_old_token_is_not_sent_again(self) -> None:
        source = Source(age_s=5.0)
        assert send(source, [401, 200]) == 401
        assert source.pauses == []

    def test_other_failure_is_not_repeated(self) -> None:
        source = Source()
        assert send(source, [403, 200]) == 403

    def test_supplier_without_ages_is_not_repeated(self) -> None:
        source = Source()
        assert send(source, [401, 200], supplier=lambda rejected=None: "token") == 401

    def test_deadline_of_the_call_ends_the_retry(self) -> None:
        source = Source()
        assert send(source, [401, 200], deadline_s=-1) == 401


class TestFixedToken:
    def test_rejected_token_needs_reconnect(self) -> None:
        with pytest.raises(ReconnectRequired):
            FixedToken("token")("token")

    def test_age_is_infinite_without_a_time(self) -> None:
        assert FixedToken("token").age_s("token") == math.inf

    def test_age_counts_from_the_time_of_issue(self) -> None:
        issued = FixedToken("token", clock.now() - timedelta(seconds=3))
        assert 3 <= issued.age_s("token") < 60

    def test_representation_does_not_contain_the_token(self) -> None:
        assert "secret" not in repr(FixedToken("secret"))

    def test_supplier_of_a_text_returns_the_text(self) -> None:
        assert supplier_of("token")() == "token"
