"""Tests of the counter of sliding windows, in memory and in Redis."""

import socket
import time
import uuid

import pytest

from app.core.rates import Rate
from app.rate_limiting.counter import RateCounter
from tests.support.servers.redis import Redis

THREE = (Rate(3, 60),)


@pytest.fixture(params=["memory", "redis"])
def counter(request: pytest.FixtureRequest) -> RateCounter:
    url = request.getfixturevalue("redis").url if request.param == "redis" else None
    return RateCounter(redis_url=url)


@pytest.fixture
def key() -> str:
    return uuid.uuid4().hex


class TestTryAcquire:
    def test_try_acquire_beyond_the_limit_returns_the_wait(self, counter: RateCounter, key: str) -> None:
        waits = [counter.try_acquire(THREE, "row", key) for _ in range(5)]
        assert waits[:3] == [0, 0, 0]
        assert all(50 <= wait <= 60 for wait in waits[3:])

    def test_try_acquire_counts_each_key_and_row_separately(self, counter: RateCounter, key: str) -> None:
        for _ in range(3):
            counter.try_acquire(THREE, "row", key)
        assert counter.try_acquire(THREE, "row", key + "x") == 0
        assert counter.try_acquire(THREE, "other", key) == 0

    def test_try_acquire_after_the_window_has_passed_succeeds(self, counter: RateCounter, key: str) -> None:
        rates = (Rate(2, 1),)
        assert [counter.try_acquire(rates, "row", key) for _ in range(3)] == [0, 0, 1]
        time.sleep(1.1)
        assert counter.try_acquire(rates, "row", key) == 0

    def test_try_acquire_with_one_exhausted_rate_counts_in_no_rate(self, counter: RateCounter, key: str) -> None:
        both = (Rate(5, 60), Rate(2, 3600))
        assert [counter.try_acquire(both, "row", key) > 0 for _ in range(6)] == [False, False, True, True, True, True]
        assert counter.wait_s((Rate(3, 60),), "row", key) == 0

    def test_reset_removes_the_counted_events(self, counter: RateCounter, key: str) -> None:
        for _ in range(3):
            counter.try_acquire(THREE, "row", key)
        counter.reset(THREE, "row", key)
        assert counter.try_acquire(THREE, "row", key) == 0

    def test_wait_s_counts_no_event(self, counter: RateCounter, key: str) -> None:
        assert [counter.wait_s(THREE, "row", key) for _ in range(9)] == [0] * 9


class TestShares:
    def test_each_process_enforces_its_share_in_memory(self, key: str) -> None:
        counter = RateCounter(workers=2)
        assert [counter.try_acquire((Rate(4, 60),), "row", key) > 0 for _ in range(3)] == [False, False, True]

    def test_processes_share_one_count_in_redis(self, redis: Redis, key: str) -> None:
        one, two = (RateCounter(redis_url=redis.url, workers=2) for _ in range(2))
        waits = [counter.try_acquire(THREE, "row", key) for counter in (one, two, one, two)]
        assert [wait > 0 for wait in waits] == [False, False, False, True]

    def test_scale_multiplies_the_rate(self, key: str) -> None:
        counter = RateCounter(scale=2)
        assert [counter.try_acquire(THREE, "row", key) > 0 for _ in range(7)] == [False] * 6 + [True]


class TestRedisFailures:
    def test_stopped_redis_counts_in_memory_until_its_return(self, redis: Redis, key: str) -> None:
        counter = RateCounter(redis_url=redis.url, workers=1, retry_after_s=0.3)
        counter.try_acquire(THREE, "row", key)
        redis.stop()
        try:
            assert [counter.try_acquire(THREE, "row", key) > 0 for _ in range(4)] == [False, False, False, True]
        finally:
            redis.start()
        time.sleep(0.4)
        assert counter.try_acquire(THREE, "row", key) == 0

    def test_unresponsive_redis_delays_one_call_only(self, key: str) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            counter = RateCounter(redis_url=f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
            assert [counter.try_acquire(THREE, "row", key) > 0 for _ in range(4)] == [False, False, False, True]
            silent.setblocking(False)
            silent.accept()[0].close()
            with pytest.raises(BlockingIOError):
                silent.accept()


class TestPrivacy:
    def test_keys_in_redis_are_hashed(self, redis: Redis) -> None:
        RateCounter(redis_url=redis.url).try_acquire(THREE, "row", "somebody@mail.example.org")
        with socket.create_connection(("127.0.0.1", redis.port), 5) as client:
            client.sendall(b"KEYS *\r\n")
            assert b"somebody" not in client.recv(65536)
