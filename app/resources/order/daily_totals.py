"""Daily totals, updated with every change of an order, refund or period, so that a summary reads few rows."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from app.database.upserts import insert_or_update
from app.extensions import db
from app.models.order import BillingDay

Sums = Counter[tuple[datetime, str, str]]
"""Totals by day, currency and column of `billing_days`."""

COLUMNS = ("revenue_minor", "refunds_minor", "billed_millionths", "billed_count")


def taken(row: Any, at: str, column: str) -> Sums:
    """Return the amount of an order or refund on the day of its time `at`. Empty without a row or time."""
    counts_at: datetime | None = None if row is None else getattr(row, at)
    return Sums() if counts_at is None else Sums({(_day(counts_at), row.currency, column): row.amount_minor})


def billed(periods: Iterable[Mapping[str, Any]]) -> Sums:
    """Return the changes of the monthly amounts by periods that start or end."""
    sums = Sums()
    for period in periods:
        monthly, currency = period["monthly_millionths"], period["currency"]
        for at, sign in ((period["valid_from"], 1), (period["valid_to"], -1)):
            if monthly and at is not None:
                sums[_day(at), currency, "billed_millionths"] += sign * monthly
                sums[_day(at), currency, "billed_count"] += sign
    return sums


def change(before: Sums, after: Sums) -> None:
    """Add the differences to the stored totals.

    The days have a fixed order, so that two transactions do not deadlock.
    """
    differences: dict[tuple[datetime, str], dict[str, int]] = defaultdict(dict)
    for day, currency, column in before.keys() | after.keys():
        difference = after[day, currency, column] - before[day, currency, column]
        if difference:
            differences[day, currency][column] = difference
    for (day, currency), more in sorted(differences.items()):
        values = {"day": day, "currency": currency, **dict.fromkeys(COLUMNS, 0), **more}
        changes = {column: getattr(BillingDay, column) + difference for column, difference in more.items()}
        statement = insert_or_update(
            db.engine.dialect.name, BillingDay, values, unique=("day", "currency"), changes=changes
        )
        db.session.execute(statement)


def _day(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
