"""Back-off, dead letters and periods as both engines count them."""

from datetime import timedelta

import pytest

from app.core.errors import NotFound
from app.core.jobs import Job, PermanentFailure
from app.drivers.errors import Throttled
from app.drivers.jobs.policy import Timing, describe, may_retry, slot


class TestBackoff:
    @pytest.mark.parametrize(("failures", "ceiling_s"), [(1, 8), (2, 16), (5, 128), (8, 900), (200, 900)])
    def test_it_is_spread_up_to_a_doubling_ceiling(self, failures, ceiling_s):
        waits_s = [Timing().backoff_s(failures, OSError()) for _ in range(300)]

        assert ceiling_s * 0.8 < max(waits_s) <= ceiling_s
        assert min(waits_s) < ceiling_s * 0.2

    def test_it_is_never_shorter_than_what_the_other_side_asked_for(self):
        assert Timing(backoff_base_s=0.1).backoff_s(1, Throttled("slow down", retry_after_s=42)) == 42

    def test_what_the_other_side_asks_for_is_honoured_up_to_a_minute(self):
        assert Timing(backoff_base_s=0.1).backoff_s(1, Throttled("slow down", retry_after_s=3600)) == 60

    def test_all_retries_of_a_job_outlast_a_short_outage(self):
        ceilings_s = [min(Timing().backoff_cap_s, Timing().backoff_base_s * 2**n) for n in range(8)]

        assert sum(ceilings_s) / 2 > 15 * 60


class TestTiming:
    def test_a_dead_worker_is_noticed_well_within_the_promised_90_seconds(self):
        timing = Timing()

        assert timing.lease_s + timing.sweep_s < 60
        assert timing.heartbeat_s <= timing.lease_s / 3


class TestMayRetry:
    def test_a_job_is_tried_again_as_often_as_it_declares(self):
        jobs = {"a": Job("a", print, retries=2)}

        assert [may_retry(jobs, "a", failures, OSError()) for failures in (1, 2, 3)] == [True, True, False]

    def test_an_undeclared_name_has_the_default_retries(self):
        assert [may_retry({}, "newer", failures, OSError()) for failures in (8, 9)] == [True, False]

    def test_a_permanent_failure_is_not_tried_again(self):
        assert not may_retry({}, "a", 1, PermanentFailure("gone"))


class TestDescribe:
    def test_the_message_of_an_own_error_is_kept(self):
        assert describe(NotFound("No such project")) == "NotFound: No such project"

    def test_of_any_other_error_only_the_kind_is_kept(self):
        assert describe(ValueError("token=abc")) == "ValueError"

    def test_it_is_never_longer_than_a_line_to_show(self):
        assert len(describe(PermanentFailure("x" * 10_000))) == 500


class TestSlot:
    def test_moments_of_one_period_share_a_number_and_the_next_has_the_next(self):
        every = timedelta(seconds=10)

        assert [slot(now_s, every) for now_s in (1000.0, 1009.99, 1010.0)] == [100, 100, 101]
