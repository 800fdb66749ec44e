"""Tests of retries."""

import pytest

from app.core.retry import RetryOptions, retry


class Transient(Exception):
    def __init__(self, wait_s: float | None = None) -> None:
        super().__init__("transient")
        self.wait_s = wait_s


class Fatal(Exception):
    pass


class RetryHarness:
    """A call that raises the failures in order and then returns, with a clock that `sleep` advances."""

    def __init__(self, *failures: Exception, takes_s: float = 0.0) -> None:
        self.failures, self.takes_s = list(failures), takes_s
        self.calls, self.time_s = 0, 0.0
        self.waits: list[float] = []

    def __call__(self) -> str:
        self.calls += 1
        self.time_s += self.takes_s
        if self.failures:
            raise self.failures.pop(0)
        return "done"

    def sleep(self, wait_s: float) -> None:
        self.waits.append(wait_s)
        self.time_s += wait_s

    def options(self, **others: object) -> RetryOptions:
        return RetryOptions(
            is_transient=lambda failure: isinstance(failure, Transient),
            requested_wait_s=lambda failure: getattr(failure, "wait_s", None),
            sleep=self.sleep,
            now=lambda: self.time_s,
            **others,
        )


class TestRetry:
    def test_successful_call_returns_its_result(self) -> None:
        bench = RetryHarness()
        assert retry(bench, bench.options()) == "done"
        assert (bench.calls, bench.waits) == (1, [])

    def test_transient_failures_are_retried(self) -> None:
        bench = RetryHarness(Transient(), Transient(), Transient())
        assert retry(bench, bench.options()) == "done"
        assert bench.calls == 4

    def test_retry_stops_after_four_attempts(self) -> None:
        bench = RetryHarness(*(Transient() for _ in range(9)))
        with pytest.raises(Transient):
            retry(bench, bench.options())
        assert (bench.calls, len(bench.waits)) == (4, 3)

    def test_permanent_failure_raises_without_a_retry(self) -> None:
        bench = RetryHarness(Transient(), Fatal())
        with pytest.raises(Fatal):
            retry(bench, bench.options())
        assert bench.calls == 2

    def test_waits_are_jittered_and_double_up_to_the_maximum(self) -> None:
        runs = [RetryHarness(*(Transient() for _ in range(9))) for _ in range(200)]
        for bench in runs:
            retry(bench, bench.options(attempts=10, deadline_s=1e9))
        for number in range(9):
            bound_s = min(8, 0.25 * 2**number)
            waits = [bench.waits[number] for bench in runs]
            assert all(0 <= wait <= bound_s for wait in waits)
            assert min(waits) < 0.2 * bound_s
            assert max(waits) > 0.8 * bound_s

    def test_requested_wait_is_respected(self) -> None:
        bench = RetryHarness(Transient(wait_s=7))
        retry(bench, bench.options())
        assert bench.waits == [7]

    def test_requested_wait_beyond_the_deadline_raises_without_a_retry(self) -> None:
        bench = RetryHarness(Transient(wait_s=31))
        with pytest.raises(Transient):
            retry(bench, bench.options())
        assert (bench.calls, bench.waits) == (1, [])

    def test_job_waits_at_most_one_minute(self) -> None:
        patient = RetryHarness(Transient(wait_s=60))
        assert retry(patient, patient.options(deadline_s=600)) == "done"
        asked_too_much = RetryHarness(Transient(wait_s=61))
        with pytest.raises(Transient):
            retry(asked_too_much, asked_too_much.options(deadline_s=600))
        assert asked_too_much.waits == []

    def test_slow_attempts_exhaust_the_deadline(self) -> None:
        bench = RetryHarness(Transient(wait_s=0), Transient(wait_s=0), Transient(wait_s=0), takes_s=15)
        with pytest.raises(Transient):
            retry(bench, bench.options())
        assert bench.calls == 2
