"""`flask billing`: the platform's figures, and the comparison with the payment provider out of turn."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import click
from flask.cli import AppGroup

from app import transactions
from app.extensions import drivers
from app.resources.order.reconciling import LOOKS_BACK
from app.resources.order.reconciling import reconcile as compare
from app.resources.order.summary import Summary, columns, summary

billing = AppGroup("billing", help="Payments and subscriptions.")
Day = click.DateTime(["%Y-%m-%d"])


@billing.command("summary")
@click.option("--from", "since", type=Day, default=None, help="First day; a year before the last one unless given.")
@click.option("--to", "until", type=Day, default=None, help="Last day; today unless given.")
@click.option("--currency", default=None, metavar="USD", help="This currency only.")
def show_summary(since: datetime | None, until: datetime | None, currency: str | None) -> None:
    """Print revenue and subscriptions; amounts are in the currencies' minor units."""
    if since and until and since > until:
        raise click.ClickException("The first day comes after the last one.")
    transactions.start_reading()
    found = summary(since.date() if since else None, until.date() if until else None, currency)
    for line in _lines(found):
        click.echo(line)


@billing.command("reconcile")
@click.option("--days", type=click.IntRange(1, 90), default=LOOKS_BACK.days, show_default=True, help="How far back.")
def reconcile(days: int) -> None:
    """Take in what the payment provider told in vain."""
    outcome = compare(drivers["billing"], looks_back=timedelta(days=days))
    click.echo(f"{outcome.looked_at} looked at, {outcome.taken_in} taken in.")


def _lines(found: Summary) -> list[str]:
    counts = {
        "active": found.active_subscriptions,
        "trialing": found.trialing_subscriptions,
        "new": found.new_subscriptions,
        "canceled": found.canceled_subscriptions,
        "churn": f"{found.churn_rate:.2%}",
        "pre-orders": found.pre_orders,
    }
    figures = [[name, *columns(one).values()] for name, one in found.currencies.items()]
    plans = [[name, row.plan, row.mrr, row.active] for name, one in found.currencies.items() for row in one.by_plan]
    months = [
        [name, row.month, row.revenue, row.refunds, row.mrr]
        for name, one in found.currencies.items()
        for row in one.by_month
    ]
    heads = ["currency", "mrr", "arr", "revenue", "refunds", "net_revenue", "arpu", "active"]
    return [
        f"{found.since} to {found.until}",
        *_table(list(counts), [list(counts.values())]),
        *_table(heads, figures),
        *_table(["currency", "plan", "mrr", "active"], plans),
        *_table(["currency", "month", "revenue", "refunds", "mrr"], months),
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A title line and the rows below an empty line, in columns; words to the left, numbers to the right."""
    if not rows:
        return []
    cells = [list(heads), *[[f"{value:,}" if isinstance(value, int) else str(value) for value in row] for row in rows]]
    widths = [max(len(line[at]) for line in cells) for at in range(len(heads))]
    to_left = [isinstance(value, str) for value in rows[0]]
    return ["", *["  ".join(_cell(*one) for one in zip(line, widths, to_left, strict=True)).rstrip() for line in cells]]


def _cell(text: str, width: int, to_left: bool) -> str:
    return text.ljust(width) if to_left else text.rjust(width)
