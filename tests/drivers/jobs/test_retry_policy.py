"""Tests of the rules of both engines: back-off, dead letters and periods."""

from datetime import timedelta

import pytest

from app.core.errors import NotFound
from app.core.jobs import Job, PermanentFailure
from app.drivers.errors import UpstreamThrottled
from app.drivers.jobs.retry_policy import JobTimings, describe, may_retry, slot


class TestBackoff:
    @pytest.mark.parametrize(("failures", "ceiling_s"), [(1, 8), (2, 16), (5, 128), (8, 900), (200, 900)])
    def test_backoff_is_random_below_a_doubling_maximum(self, failures, ceiling_s):
        waits_s = [JobTimings().backoff_s(failures, OSError()) for _ in range(300)]

        assert ceiling_s * 0.8 < max(waits_s) <= ceiling_s
        assert min(waits_s) < ceiling_s * 0.2

    def test_backoff_is_at_least_retry_after(self):
        assert JobTimings(backoff_base_s=0.1).backoff_s(1, UpstreamThrottled("slow down", retry_after_s=42)) == 42

    def test_retry_after_is_limited_to_one_minute(self):
        assert JobTimings(backoff_base_s=0.1).backoff_s(1, UpstreamThrottled("slow down", retry_after_s=3600)) == 60

    def test_default_retries_outlast_a_short_outage(self):
        ceilings_s = [min(JobTimings().backoff_cap_s, JobTimings().backoff_base_s * 2**n) for n in range(8)]

        assert sum(ceilings_s) / 2 > 15 * 60


class TestTiming:
    def test_calls_of_a_dead_worker_run_again_within_60_seconds(self):
        timing = JobTimings()

        assert timing.lease_s + 2 * timing.sweep_s + timing.poll_s < 60
        assert timing.heartbeat_s < timing.sweep_s
        assert timing.heartbeat_s <= timing.lease_s / 3


class TestMayRetry:
    def test_declared_retries_are_used(self):
        jobs = {"a": Job("a", print, retries=2)}

        assert [may_retry(jobs, "a", failures, OSError()) for failures in (1, 2, 3)] == [True, True, False]

    def test_undeclared_job_has_the_default_retries(self):
        assert [may_retry({}, "newer", failures, OSError()) for failures in (8, 9)] == [True, False]

    def test_permanent_failure_is_not_retried(self):
        assert not may_retry({}, "a", 1, PermanentFailure("gone"))


class TestDescribe:
    def test_message_of_an_own_error_is_stored(self):
        assert describe(NotFound("No such project")) == "NotFound: No such project"

    def test_other_errors_store_their_type_only(self):
        assert describe(ValueError("token=abc")) == "ValueError"

    def test_description_has_a_maximum_length(self):
        assert len(describe(PermanentFailure("x" * 10_000))) == 500


class TestSlot:
    def test_slot_is_equal_within_a_period_and_increases_by_one(self):
        every = timedelta(seconds=10)

        assert [slot(now_s, every) for now_s in (1000.0, 1009.99, 1010.0)] == [100, 100, 101]
