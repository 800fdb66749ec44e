"""Tests of the periods that are built from the stored states of a subscription."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.drivers.billing.port import SubscriptionState, SubscriptionStatus
from app.resources.order.projection import SubscriptionTerms, TimedState, build_periods, canceled_at, started_at

START = datetime(2026, 1, 1, tzinfo=UTC)
STATE = SubscriptionState(
    "sub_1", "ctm_1", None, SubscriptionStatus.ACTIVE, "Pro", 2900, "USD", "month", 1, START, None, None, None
)


def at(days: float, **changes: object) -> TimedState[SubscriptionState]:
    return TimedState(START + timedelta(days), replace(STATE, **changes))


def periods_of(*known: TimedState[SubscriptionState]) -> list[tuple[float, float | None, str, str]]:
    def day(moment: datetime | None) -> float | None:
        return None if moment is None else (moment - START) / timedelta(days=1)

    return [(day(p.valid_from), day(p.valid_to), p.terms.status.value, p.terms.plan) for p in build_periods(known)]


class TestBuildPeriods:
    def test_renewals_are_one_period(self):
        ends = [START + timedelta(31 * n) for n in range(1, 4)]
        assert periods_of(*[at(31 * n, current_period_end=end) for n, end in enumerate(ends)]) == [
            (0, None, "active", "Pro")
        ]

    def test_change_ends_a_period_and_starts_the_next(self):
        assert periods_of(at(0), at(5, plan="Team"), at(9)) == [
            (0, 5, "active", "Pro"), (5, 9, "active", "Team"), (9, None, "active", "Pro"),
        ]  # fmt: skip

    def test_state_without_duration_has_no_period(self):
        assert periods_of(at(0), at(5, plan="Team"), at(5)) == [(0, None, "active", "Pro")]
        assert periods_of(at(0, plan="Team"), at(0)) == [(0, None, "active", "Pro")]

    def test_first_state_is_valid_from_the_start(self):
        assert periods_of(at(400)) == [(0, None, "active", "Pro")]

    def test_late_cancellation_ends_the_period_at_the_canceled_date(self):
        ended = at(20, status=SubscriptionStatus.CANCELED, canceled_at=START + timedelta(7))
        assert periods_of(at(0), ended) == [(0, 7, "active", "Pro"), (7, None, "canceled", "Pro")]
        assert periods_of(at(0), at(9, plan="Team"), ended) == [(0, 9, "active", "Pro"), (9, None, "canceled", "Pro")]

    def test_imported_canceled_state_has_no_earlier_period(self):
        ended = at(20, status=SubscriptionStatus.CANCELED, canceled_at=START + timedelta(7))
        assert periods_of(ended) == [(7, None, "canceled", "Pro")]


class TestStartAndEnd:
    def test_started_at_is_the_stated_date_or_the_first_state(self):
        assert started_at([at(3)]) == START
        assert started_at([at(3, started_at=None), at(4, started_at=None)]) == START + timedelta(3)

    def test_canceled_at_is_the_stated_date_or_the_first_canceled_state(self):
        end = SubscriptionStatus.CANCELED
        assert canceled_at([at(0)]) is None
        assert canceled_at([at(0), at(5, status=end), at(6, status=end)]) == START + timedelta(5)
        assert canceled_at([at(5, status=end, canceled_at=START)]) == START


class TestMonthlyAmount:
    @pytest.mark.parametrize(
        ("amount", "interval", "frequency", "monthly"),
        [(2900, "month", 1, 2900), (3000, "month", 3, 1000), (12_000, "year", 1, 1000), (1200, "week", 1, 5200),
         (1200, "day", 1, 36_500), (0, "month", 1, 0)],
    )  # fmt: skip
    def test_amount_of_every_interval_is_converted_to_a_month(
        self, amount: int, interval: str, frequency: int, monthly: int
    ):
        terms = SubscriptionTerms(SubscriptionStatus.ACTIVE, "Pro", amount, "USD", interval, frequency)
        assert terms.monthly_millionths == monthly * 1_000_000

    def test_sum_of_yearly_prices_has_no_rounding_error(self):
        terms = SubscriptionTerms(SubscriptionStatus.ACTIVE, "Pro", 10_000, "USD", "year", 1)
        assert round(3 * terms.monthly_millionths / 1_000_000) == 2500

    @pytest.mark.parametrize("status", [one for one in SubscriptionStatus if one != "active"])
    def test_status_other_than_active_has_no_monthly_amount(self, status: SubscriptionStatus):
        assert SubscriptionTerms(status, "Pro", 2900, "USD", "month", 1).monthly_millionths == 0
