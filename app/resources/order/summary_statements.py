"""The four statements of the summary; each answers with as many rows as there are currencies, plans and months."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import sqlalchemy as sa

from app.extensions import db
from app.models.base import UtcDateTime
from app.models.order import Order, PreOrder, Refund, Subscription
from app.models.order import SubscriptionPeriod as Period

DAY = timedelta(days=1)


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
class Flow:
    """What began to be billed less what ended to be, in a month of the range."""

    currency: str
    bucket: int
    millionths: int
    count: int


@dataclass(frozen=True)
class Standing:
    """A plan's subscriptions at the end of the range."""

    currency: str
    plan: str
    millionths: int
    active: int
    trialing: int


@dataclass(frozen=True)
class Money:
    """Revenue or refunds of a month of the range."""

    kind: str
    currency: str
    bucket: int
    amount: int


@dataclass(frozen=True)
class Counts:
    """What happened in the range."""

    new: int
    canceled: int
    pre_orders: int


def flows(asked: Narrowed) -> list[Flow]:
    """Beginnings and ends of what is billed, all up to the end of the range."""
    return [
        Flow(row.currency, row.bucket, int(row.millionths), int(row.number))
        for row in db.session.execute(
            sa.union_all(_edges(asked, Period.valid_from, 1), _edges(asked, Period.valid_to, -1))
        )
    ]


def _edges(asked: Narrowed, edge: Any, sign: int) -> sa.Select[str, int, int, int]:
    bucket = asked.bucket(edge).label("bucket")
    return (
        sa.select(
            Period.currency,
            bucket,
            (sign * sa.func.sum(Period.monthly_millionths)).label("millionths"),
            (sign * sa.func.count()).label("number"),
        )
        .where(Period.monthly_millionths > 0, edge.is_not(None), edge < asked.until, asked.of_currency(Period.currency))
        .group_by(Period.currency, sa.text("bucket"))
    )


def standing(asked: Narrowed) -> list[Standing]:
    """Who pays for what at the end of the range, and who tries it."""
    trialing = sa.func.count().filter(Period.status == "trialing")
    rows = db.session.execute(
        sa.select(
            Period.currency,
            Period.plan,
            sa.func.sum(Period.monthly_millionths).label("millionths"),
            sa.func.count().filter(Period.monthly_millionths > 0).label("active"),
            trialing.label("trialing"),
        )
        .where(Period.valid_from < asked.until, sa.or_(Period.valid_to.is_(None), Period.valid_to >= asked.until))
        .where(sa.or_(Period.monthly_millionths > 0, Period.status == "trialing"))
        .where(asked.of_currency(Period.currency))
        .group_by(Period.currency, Period.plan)
        .order_by(Period.currency, Period.plan)
    )
    return [Standing(row.currency, row.plan, int(row.millionths), row.active, row.trialing) for row in rows]


def money(asked: Narrowed) -> list[Money]:
    """Completed payments and approved refunds of each month."""
    revenue = _taken(asked, "revenue", Order, Order.completed_at)
    refunds = _taken(asked, "refunds", Refund, Refund.approved_at)
    rows = db.session.execute(sa.union_all(revenue, refunds))
    return [Money(row.kind, row.currency, row.bucket, int(row.amount)) for row in rows]


def _taken(asked: Narrowed, kind: str, table: Any, at: Any) -> sa.Select[Any]:
    bucket = asked.bucket(at).label("bucket")
    return (
        sa.select(
            sa.literal(kind).label("kind"), table.currency, bucket, sa.func.sum(table.amount_minor).label("amount")
        )
        .where(asked.within(at), asked.of_currency(table.currency))
        .group_by(table.currency, sa.text("bucket"))
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
