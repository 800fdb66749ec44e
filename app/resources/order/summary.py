"""Revenue and subscriptions of the whole platform, from three aggregating statements.

The MRR at a time is the monthly amount of all terms that started before it, minus the terms that ended before it.
One pass over the days returns the values of every month. The last day of a range is included.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate

import sqlalchemy as sa

from app.extensions import db
from app.models.base import Base, UtcDateTime, utcnow_ms
from app.models.order import BillingDay, PreOrder, Subscription
from app.models.order import SubscriptionPeriod as Period
from app.resources.order.projection import MILLION

DAY = timedelta(days=1)
SUMMED = ("millionths", "active", "trialing")


@dataclass(frozen=True)
class SummaryFilter:
    """Days from `first` to `last`, both included, and a currency or None for all."""

    first: date
    last: date
    currency: str | None

    @property
    def since(self) -> datetime:
        """Start of the range."""
        return _midnight(self.first)

    @property
    def until(self) -> datetime:
        """End of the range, not included."""
        return _midnight(self.last + DAY)

    @property
    def months(self) -> list[str]:
        """Months with days in the range."""
        return [start.strftime("%Y-%m") for start in self.starts]

    @property
    def starts(self) -> list[datetime]:
        """Start of each month within the range. Bucket 1 starts with the first one."""
        starts, day = [self.since], self.first
        while (day := (day.replace(day=1) + 31 * DAY).replace(day=1)) <= self.last:
            starts.append(_midnight(day))
        return starts

    def within(self, at: sa.SQLColumnExpression[datetime | None]) -> sa.ColumnElement[bool]:
        """Return the condition that a time is in the range."""
        return sa.and_(at >= self.since, at < self.until)

    def of_currency(self, column: sa.SQLColumnExpression[str | None]) -> sa.ColumnElement[bool]:
        """Return the condition that a row has the currency."""
        return sa.true() if self.currency is None else column == self.currency

    def bucket(self, at: sa.SQLColumnExpression[datetime | None]) -> sa.ColumnElement[int]:
        """Return the number of the month of a time, from 1. 0 is before the range."""
        if db.engine.dialect.name == "postgresql":
            bounds = sa.literal(self.starts, sa.ARRAY(UtcDateTime()))
            return sa.func.width_bucket(at, bounds, type_=sa.Integer)
        before = [(at < start, bucket) for bucket, start in enumerate(self.starts)]
        return sa.case(*before, else_=len(before))


@dataclass(frozen=True)
class Change:
    """Totals of a month of the range. Bucket 0 contains everything before the range.

    `millionths` is the change of the monthly amount, `number` the change of the number of subscriptions.
    """

    currency: str
    bucket: int
    revenue: int
    refunds: int
    millionths: int
    number: int


@dataclass(frozen=True)
class PlanCounts:
    """Subscriptions of a plan at the end of the range."""

    currency: str
    plan: str
    millionths: int
    active: int
    trialing: int


@dataclass(frozen=True)
class PeriodCounts:
    """Events in the range."""

    new: int
    canceled: int
    pre_orders: int


def changes(selection: SummaryFilter) -> list[Change]:
    """Return the daily totals by month."""
    bucket = selection.bucket(BillingDay.day).label("bucket")
    columns = {
        "revenue": BillingDay.revenue_minor,
        "refunds": BillingDay.refunds_minor,
        "millionths": BillingDay.billed_millionths,
        "number": BillingDay.billed_count,
    }
    rows = db.session.execute(
        sa.select(BillingDay.currency, bucket, *[sa.func.sum(column).label(name) for name, column in columns.items()])
        .where(BillingDay.day < selection.until, selection.of_currency(BillingDay.currency))
        .group_by(BillingDay.currency, sa.text("bucket"))
    )
    return [Change(row.currency, row.bucket, *(int(getattr(row, name)) for name in columns)) for row in rows]


def standing(selection: SummaryFilter) -> list[PlanCounts]:
    """Return the active and trialing subscriptions by plan at the end of the range.

    A union of two statements is used, because an `OR` over both kinds of end would read every period.
    """
    ends = (Period.valid_to.is_(None), Period.valid_to >= selection.until)
    held = sa.union_all(*[_held(selection, end) for end in ends]).subquery()
    rows = db.session.execute(
        sa.select(held.c.currency, held.c.plan, *[sa.func.sum(held.c[name]).label(name) for name in SUMMED])
        .group_by(held.c.currency, held.c.plan)
        .order_by(held.c.currency, held.c.plan)
    )
    return [PlanCounts(row.currency, row.plan, *(int(getattr(row, name)) for name in SUMMED)) for row in rows]


def _held(selection: SummaryFilter, end: sa.ColumnElement[bool]) -> sa.Select[*tuple[object, ...]]:
    is_billed, is_tried = Period.monthly_millionths > 0, Period.status == "trialing"
    sums = (
        sa.func.sum(Period.monthly_millionths),
        sa.func.count().filter(is_billed),
        sa.func.count().filter(is_tried),
    )
    named = [value.label(name) for value, name in zip(sums, SUMMED, strict=True)]
    return (
        sa.select(Period.currency, Period.plan, *named)
        .where(
            end,
            Period.valid_from < selection.until,
            sa.or_(is_billed, is_tried),
            selection.of_currency(Period.currency),
        )
        .group_by(Period.currency, Period.plan)
    )


def counts(selection: SummaryFilter) -> PeriodCounts:
    """Return the numbers of new and ended subscriptions and of pre-orders."""
    narrowed = selection.of_currency(Subscription.currency)
    row = db.session.execute(
        sa.select(
            _count(Subscription, selection.within(Subscription.started_at), narrowed).label("new"),
            _count(Subscription, selection.within(Subscription.canceled_at), narrowed).label("canceled"),
            _count(PreOrder, selection.within(PreOrder.created_at)).label("pre_orders"),
        )
    ).one()
    return PeriodCounts(row.new, row.canceled, row.pre_orders)


def _count(table: type[Base], *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).select_from(table).where(*where).scalar_subquery()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


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
    changed, held, period = changes(selection), standing(selection), counts(selection)
    names = sorted({*(row.currency for row in changed), *(row.currency for row in held)})
    figures = {name: _figures(name, selection, changed, held) for name in names}
    at_start = sum(row.number for row in changed if row.bucket == 0)
    return Summary(
        since=selection.first,
        until=selection.last,
        currencies=figures,
        active_subscriptions=sum(figure.active for figure in figures.values()),
        trialing_subscriptions=sum(row.trialing for row in held),
        new_subscriptions=period.new,
        canceled_subscriptions=period.canceled,
        churn_rate=round(period.canceled / at_start, 4) if at_start else 0.0,
        pre_orders=period.pre_orders,
    )


def _figures(
    currency: str, selection: SummaryFilter, changes: list[Change], standing: list[PlanCounts]
) -> CurrencyFigures:
    nothing = Change(currency, 0, 0, 0, 0, 0)
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


def columns(figures: CurrencyFigures) -> dict[str, object]:
    """Return the single figures of a currency by name, for tables."""
    names = ("mrr", "arr", "revenue", "refunds", "net_revenue", "arpu", "active")
    return {name: getattr(figures, name) for name in names}
