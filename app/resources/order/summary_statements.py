"""The three statements of the summary; each answers with as many rows as there are currencies, plans and months."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import sqlalchemy as sa

from app.extensions import db
from app.models.base import UtcDateTime
from app.models.order import BillingDay, PreOrder, Subscription
from app.models.order import SubscriptionPeriod as Period

DAY = timedelta(days=1)
SUMMED = ("millionths", "active", "trialing")


@dataclass(frozen=True)
class Narrowed:
    """The days from `first` to `last`, both counted, of one currency or of all."""

    first: date
    last: date
    currency: str | None

    @property
    def since(self) -> datetime:
        """The first moment."""
        return _midnight(self.first)

    @property
    def until(self) -> datetime:
        """The moment after the last."""
        return _midnight(self.last + DAY)

    @property
    def months(self) -> list[str]:
        """The months that have days in the range."""
        return [start.strftime("%Y-%m") for start in self.starts]

    @property
    def starts(self) -> list[datetime]:
        """Where each month begins, as far as it lies in the range; bucket 1 begins at the first of them."""
        found, day = [self.since], self.first
        while (day := (day.replace(day=1) + 31 * DAY).replace(day=1)) <= self.last:
            found.append(_midnight(day))
        return found

    def within(self, at: Any) -> sa.ColumnElement[bool]:
        """Whether a time lies in the range."""
        return sa.and_(at >= self.since, at < self.until)

    def of_currency(self, column: Any) -> sa.ColumnElement[bool]:
        """Whether a row counts."""
        return sa.true() if self.currency is None else column == self.currency

    def bucket(self, at: Any) -> sa.ColumnElement[int]:
        """Which month of the range a time lies in, from 1; 0 is before all."""
        if db.engine.dialect.name == "postgresql":
            bounds = sa.literal(self.starts, sa.ARRAY(UtcDateTime()))
            return sa.func.width_bucket(at, bounds, type_=sa.Integer)
        before = [(at < start, bucket) for bucket, start in enumerate(self.starts)]
        return sa.case(*before, else_=len(before))


@dataclass(frozen=True)
class Change:
    """What a month of the range changed, or, as month 0, all that came before the range.

    `millionths` is what began to be billed by the month less what ended to be, `number` how many subscriptions.
    """

    currency: str
    bucket: int
    revenue: int
    refunds: int
    millionths: int
    number: int


@dataclass(frozen=True)
class Standing:
    """A plan's subscriptions at the end of the range."""

    currency: str
    plan: str
    millionths: int
    active: int
    trialing: int


@dataclass(frozen=True)
class Counts:
    """What happened in the range."""

    new: int
    canceled: int
    pre_orders: int


def changes(asked: Narrowed) -> list[Change]:
    """The sums of the days, by month."""
    bucket = asked.bucket(BillingDay.day).label("bucket")
    columns = {
        "revenue": BillingDay.revenue_minor,
        "refunds": BillingDay.refunds_minor,
        "millionths": BillingDay.billed_millionths,
        "number": BillingDay.billed_count,
    }
    rows = db.session.execute(
        sa.select(BillingDay.currency, bucket, *[sa.func.sum(column).label(name) for name, column in columns.items()])
        .where(BillingDay.day < asked.until, asked.of_currency(BillingDay.currency))
        .group_by(BillingDay.currency, sa.text("bucket"))
    )
    return [Change(row.currency, row.bucket, *(int(getattr(row, name)) for name in columns)) for row in rows]


def standing(asked: Narrowed) -> list[Standing]:
    """Who pays for what at the end of the range, and who tries it.

    Two statements in one, because an `OR` over both kinds of end would read every period there ever was.
    """
    ends = (Period.valid_to.is_(None), Period.valid_to >= asked.until)
    held = sa.union_all(*[_held(asked, end) for end in ends]).subquery()
    rows = db.session.execute(
        sa.select(held.c.currency, held.c.plan, *[sa.func.sum(held.c[name]).label(name) for name in SUMMED])
        .group_by(held.c.currency, held.c.plan)
        .order_by(held.c.currency, held.c.plan)
    )
    return [Standing(row.currency, row.plan, *(int(getattr(row, name)) for name in SUMMED)) for row in rows]


def _held(asked: Narrowed, end: sa.ColumnElement[bool]) -> sa.Select[*tuple[Any, ...]]:
    is_billed, is_tried = Period.monthly_millionths > 0, Period.status == "trialing"
    sums = (
        sa.func.sum(Period.monthly_millionths),
        sa.func.count().filter(is_billed),
        sa.func.count().filter(is_tried),
    )
    named = [value.label(name) for value, name in zip(sums, SUMMED, strict=True)]
    return (
        sa.select(Period.currency, Period.plan, *named)
        .where(end, Period.valid_from < asked.until, sa.or_(is_billed, is_tried), asked.of_currency(Period.currency))
        .group_by(Period.currency, Period.plan)
    )


def counts(asked: Narrowed) -> Counts:
    """New and ended subscriptions, and orders that were only thought of."""
    narrowed = asked.of_currency(Subscription.currency)
    row = db.session.execute(
        sa.select(
            _count(Subscription, asked.within(Subscription.started_at), narrowed).label("new"),
            _count(Subscription, asked.within(Subscription.canceled_at), narrowed).label("canceled"),
            _count(PreOrder, asked.within(PreOrder.created_at)).label("pre_orders"),
        )
    ).one()
    return Counts(row.new, row.canceled, row.pre_orders)


def _count(table: Any, *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).select_from(table).where(*where).scalar_subquery()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
