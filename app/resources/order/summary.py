"""Revenue and subscriptions of the whole platform, from three aggregating statements.

The MRR at a time is the monthly amount of all terms that started before it, minus the terms that ended before it.
One pass over the days returns the values of every month. The last day of a range is included.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Any

from app.models.base import utcnow_ms
from app.resources.order import queries as statements
from app.resources.order.projection import MILLION
from app.resources.order.queries import SummaryFilter


@dataclass(frozen=True)
class PlanRevenue:
    """Monthly revenue of a plan."""

    plan: str
    mrr: int
    active: int


@dataclass(frozen=True)
class Month:
    """Figures of a month within the range, and the MRR at its end."""

    month: str
    revenue: int
    refunds: int
    mrr: int


@dataclass(frozen=True)
class CurrencyFigures:
    """The figures of one currency, in its minor units."""

    mrr: int
    revenue: int
    refunds: int
    active: int
    by_plan: list[PlanRevenue]
    by_month: list[Month]

    @property
    def arr(self) -> int:
        """Annual recurring revenue."""
        return 12 * self.mrr

    @property
    def net_revenue(self) -> int:
        """Revenue minus refunds."""
        return self.revenue - self.refunds

    @property
    def arpu(self) -> int:
        """MRR per paying subscription."""
        return rounded(self.mrr, self.active) if self.active else 0


@dataclass(frozen=True)
class Summary:
    """Figures of the platform."""

    since: date
    until: date
    currencies: dict[str, CurrencyFigures]
    active_subscriptions: int
    trialing_subscriptions: int
    new_subscriptions: int
    canceled_subscriptions: int
    churn_rate: float
    pre_orders: int


def summary(since: date | None, until: date | None, currency: str | None) -> Summary:
    """Return the figures from `since` to `until`, both included. The default is the last 12 months."""
    last = until or utcnow_ms().date()
    selection = SummaryFilter(since or _year_before(last), last, currency)
    changes, standing, counts = (
        statements.changes(selection),
        statements.standing(selection),
        statements.counts(selection),
    )
    names = sorted({*(row.currency for row in changes), *(row.currency for row in standing)})
    figures = {name: _figures(name, selection, changes, standing) for name in names}
    at_start = sum(row.number for row in changes if row.bucket == 0)
    return Summary(
        since=selection.first,
        until=selection.last,
        currencies=figures,
        active_subscriptions=sum(one.active for one in figures.values()),
        trialing_subscriptions=sum(row.trialing for row in standing),
        new_subscriptions=counts.new,
        canceled_subscriptions=counts.canceled,
        churn_rate=round(counts.canceled / at_start, 4) if at_start else 0.0,
        pre_orders=counts.pre_orders,
    )


def _figures(
    currency: str, selection: SummaryFilter, changes: list[statements.Change], standing: list[statements.PlanCounts]
) -> CurrencyFigures:
    nothing = statements.Change(currency, 0, 0, 0, 0, 0)
    changed = defaultdict(lambda: nothing, {row.bucket: row for row in changes if row.currency == currency})
    levels = list(accumulate(changed[bucket].millionths for bucket in range(len(selection.months) + 1)))[1:]
    months = [
        Month(name, changed[at].revenue, changed[at].refunds, rounded(level, MILLION))
        for at, (name, level) in enumerate(zip(selection.months, levels, strict=True), start=1)
    ]
    plans = [row for row in standing if row.currency == currency and row.active]
    return CurrencyFigures(
        mrr=months[-1].mrr,
        revenue=sum(month.revenue for month in months),
        refunds=sum(month.refunds for month in months),
        active=sum(row.active for row in plans),
        by_plan=[PlanRevenue(row.plan, rounded(row.millionths, MILLION), row.active) for row in plans],
        by_month=months,
    )


def rounded(value: int, by: int) -> int:
    """Return a quotient, rounded half up."""
    return (2 * value + by) // (2 * by)


def _year_before(day: date) -> date:
    leap_day = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year - 1, day=28 if leap_day else day.day)


def columns(figures: CurrencyFigures) -> dict[str, Any]:
    """Return the single figures of a currency by name, for tables."""
    names = ("mrr", "arr", "revenue", "refunds", "net_revenue", "arpu", "active")
    return {name: getattr(figures, name) for name in names}
