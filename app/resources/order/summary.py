"""Revenue and subscriptions of the whole platform, from three statements that aggregate in the database.

MRR at a time is what all terms begun before bill in a month, less those of the terms ended before: so one pass over
the days gives every month's. States at a time are those just before it; a range's last day counts whole.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Any

from app.models.base import moment
from app.resources.order import summary_statements as statements
from app.resources.order.folding import MILLION
from app.resources.order.summary_statements import Narrowed


@dataclass(frozen=True)
class Plan:
    """What a plan brings in a month."""

    plan: str
    mrr: int
    active: int


@dataclass(frozen=True)
class Month:
    """What came and went in a month, as far as it lies in the range, and the MRR at its end or the range's."""

    month: str
    revenue: int
    refunds: int
    mrr: int


@dataclass(frozen=True)
class Figures:
    """The figures of one currency, in its minor units."""

    mrr: int
    revenue: int
    refunds: int
    active: int
    by_plan: list[Plan]
    by_month: list[Month]

    @property
    def arr(self) -> int:
        """Twelve times the MRR."""
        return 12 * self.mrr

    @property
    def net_revenue(self) -> int:
        """Revenue less refunds."""
        return self.revenue - self.refunds

    @property
    def arpu(self) -> int:
        """MRR by paying subscription."""
        return rounded(self.mrr, self.active) if self.active else 0


@dataclass(frozen=True)
class Summary:
    """All of it."""

    since: date
    until: date
    currencies: dict[str, Figures]
    active_subscriptions: int
    trialing_subscriptions: int
    new_subscriptions: int
    canceled_subscriptions: int
    churn_rate: float
    pre_orders: int


def summary(since: date | None, until: date | None, currency: str | None) -> Summary:
    """The figures of the days from `since` to `until`, both counted; the last 12 months where none are given."""
    last = until or moment().date()
    asked = Narrowed(since or _year_before(last), last, currency)
    changes, standing, counts = statements.changes(asked), statements.standing(asked), statements.counts(asked)
    names = sorted({*(row.currency for row in changes), *(row.currency for row in standing)})
    figures = {name: _figures(name, asked, changes, standing) for name in names}
    at_start = sum(row.number for row in changes if row.bucket == 0)
    return Summary(
        since=asked.first,
        until=asked.last,
        currencies=figures,
        active_subscriptions=sum(one.active for one in figures.values()),
        trialing_subscriptions=sum(row.trialing for row in standing),
        new_subscriptions=counts.new,
        canceled_subscriptions=counts.canceled,
        churn_rate=round(counts.canceled / at_start, 4) if at_start else 0.0,
        pre_orders=counts.pre_orders,
    )


def _figures(
    currency: str, asked: Narrowed, changes: list[statements.Change], standing: list[statements.Standing]
) -> Figures:
    nothing = statements.Change(currency, 0, 0, 0, 0, 0)
    changed = defaultdict(lambda: nothing, {row.bucket: row for row in changes if row.currency == currency})
    levels = list(accumulate(changed[bucket].millionths for bucket in range(len(asked.months) + 1)))[1:]
    months = [
        Month(name, changed[at].revenue, changed[at].refunds, rounded(level, MILLION))
        for at, (name, level) in enumerate(zip(asked.months, levels, strict=True), start=1)
    ]
    plans = [row for row in standing if row.currency == currency and row.active]
    return Figures(
        mrr=months[-1].mrr,
        revenue=sum(month.revenue for month in months),
        refunds=sum(month.refunds for month in months),
        active=sum(row.active for row in plans),
        by_plan=[Plan(row.plan, rounded(row.millionths, MILLION), row.active) for row in plans],
        by_month=months,
    )


def rounded(value: int, by: int) -> int:
    """A quotient, halves up."""
    return (2 * value + by) // (2 * by)


def _year_before(day: date) -> date:
    leap_day = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year - 1, day=28 if leap_day else day.day)


def columns(found: Figures) -> dict[str, Any]:
    """The single figures of a currency by name, for tables."""
    names = ("mrr", "arr", "revenue", "refunds", "net_revenue", "arpu", "active")
    return {name: getattr(found, name) for name in names}
