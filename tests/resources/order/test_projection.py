"""Histories of subscriptions, folded from what is known of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.drivers.billing.port import SubscriptionState, SubscriptionStatus
from app.resources.order.event_states import TimedState
from app.resources.order.projection import SubscriptionTerms, build_periods, canceled_at, started_at

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


class TestPeriods:
    def test_renewals_are_one_period(self):
        ends = [START + timedelta(31 * n) for n in range(1, 4)]
        assert periods_of(*[at(31 * n, current_period_end=end) for n, end in enumerate(ends)]) == [
            (0, None, "active", "Pro")
        ]

    def test_a_change_ends_one_and_begins_another(self):
        assert periods_of(at(0), at(5, plan="Team"), at(9)) == [
            (0, 5, "active", "Pro"), (5, 9, "active", "Team"), (9, None, "active", "Pro"),
        ]  # fmt: skip

    def test_what_lasted_no_time_leaves_no_trace(self):
        assert periods_of(at(0), at(5, plan="Team"), at(5)) == [(0, None, "active", "Pro")]
        assert periods_of(at(0, plan="Team"), at(0)) == [(0, None, "active", "Pro")]

    def test_what_is_first_known_held_from_the_start(self):
        assert periods_of(at(400)) == [(0, None, "active", "Pro")]

    def test_an_end_is_when_the_provider_says_even_if_told_later(self):
        ended = at(20, status=SubscriptionStatus.CANCELED, canceled_at=START + timedelta(7))
        assert periods_of(at(0), ended) == [(0, 7, "active", "Pro"), (7, None, "canceled", "Pro")]
        assert periods_of(at(0), at(9, plan="Team"), ended) == [(0, 9, "active", "Pro"), (9, None, "canceled", "Pro")]

    def test_an_imported_end_was_not_always_so(self):
        ended = at(20, status=SubscriptionStatus.CANCELED, canceled_at=START + timedelta(7))
        assert periods_of(ended) == [(7, None, "canceled", "Pro")]


class TestMoments:
    def test_a_subscription_starts_when_it_says_else_when_it_was_first_known(self):
        assert started_at([at(3)]) == START
        assert started_at([at(3, started_at=None), at(4, started_at=None)]) == START + timedelta(3)

    def test_it_ended_when_it_says_else_when_that_was_first_known(self):
        end = SubscriptionStatus.CANCELED
        assert canceled_at([at(0)]) is None
        assert canceled_at([at(0), at(5, status=end), at(6, status=end)]) == START + timedelta(5)
        assert canceled_at([at(5, status=end, canceled_at=START)]) == START


class TestMonthly:
    @pytest.mark.parametrize(
        ("amount", "interval", "frequency", "monthly"),
        [(2900, "month", 1, 2900), (3000, "month", 3, 1000), (12_000, "year", 1, 1000), (1200, "week", 1, 5200),
         (1200, "day", 1, 36_500), (0, "month", 1, 0)],
    )  # fmt: skip
    def test_any_interval_comes_to_a_month(self, amount: int, interval: str, frequency: int, monthly: int):
        terms = SubscriptionTerms(SubscriptionStatus.ACTIVE, "Pro", amount, "USD", interval, frequency)
        assert terms.monthly_millionths == monthly * 1_000_000

    def test_yearly_prices_add_up(self):
        terms = SubscriptionTerms(SubscriptionStatus.ACTIVE, "Pro", 10_000, "USD", "year", 1)
        assert round(3 * terms.monthly_millionths / 1_000_000) == 2500

    @pytest.mark.parametrize("status", [one for one in SubscriptionStatus if one != "active"])
    def test_only_active_ones_bill(self, status: SubscriptionStatus):
        assert SubscriptionTerms(status, "Pro", 2900, "USD", "month", 1).monthly_millionths == 0
