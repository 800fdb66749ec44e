"""`flask billing`: the figures of the platform, and a comparison with the payment provider."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import click
from flask.cli import AppGroup

from app.extensions import drivers
from app.resources.order.reconciliation import RECONCILED_PERIOD
from app.resources.order.reconciliation import reconcile as compare
from app.resources.order.summary import Summary, columns, summary

billing = AppGroup("billing", help="Payments and subscriptions.")
Day = click.DateTime(["%Y-%m-%d"])


@billing.command("summary")
@click.option("--from", "since", type=Day, default=None, help="First day. Default: one year before the last day.")
@click.option("--to", "until", type=Day, default=None, help="Last day. Default: today.")
@click.option("--currency", default=None, metavar="USD", help="Only this currency.")
def show_summary(since: datetime | None, until: datetime | None, currency: str | None) -> None:
    """Print revenue and subscriptions. Amounts are in minor units of the currency."""
    if since and until and since > until:
        raise click.ClickException("The first day must not be after the last day.")
    result = summary(since.date() if since else None, until.date() if until else None, currency)
    for line in _lines(result):
        click.echo(line)


@billing.command("reconcile")
@click.option(
    "--days",
    type=click.IntRange(1, 90),
    default=RECONCILED_PERIOD.days,
    show_default=True,
    help="Number of days to compare.",
)
def reconcile(days: int) -> None:
    """Apply events of the payment provider that were not delivered."""
    outcome = compare(drivers.billing, looks_back=timedelta(days=days))
    click.echo(f"{outcome.examined} checked, {outcome.stored} applied.")


def _lines(result: Summary) -> list[str]:
    counts = {
        "active": result.active_subscriptions,
        "trialing": result.trialing_subscriptions,
        "new": result.new_subscriptions,
        "canceled": result.canceled_subscriptions,
        "churn": f"{result.churn_rate:.2%}",
        "pre-orders": result.pre_orders,
    }
    figures = [[name, *columns(currency).values()] for name, currency in result.currencies.items()]
    plans = [
        [name, row.plan, row.mrr, row.active]
        for name, currency in result.currencies.items()
        for row in currency.by_plan
    ]
    months = [
        [name, row.month, row.revenue, row.refunds, row.mrr]
        for name, currency in result.currencies.items()
        for row in currency.by_month
    ]
    heads = ["currency", "mrr", "arr", "revenue", "refunds", "net_revenue", "arpu", "active"]
    return [
        f"{result.since} to {result.until}",
        *_table(list(counts), [list(counts.values())]),
        *_table(heads, figures),
        *_table(["currency", "plan", "mrr", "active"], plans),
        *_table(["currency", "month", "revenue", "refunds", "mrr"], months),
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return an empty line, a title line and the rows in columns. Text is aligned left, numbers right."""
    if not rows:
        return []
    cells = [list(heads), *[[f"{value:,}" if isinstance(value, int) else str(value) for value in row] for row in rows]]
    widths = [max(len(line[at]) for line in cells) for at in range(len(heads))]
    is_text = [isinstance(value, str) for value in rows[0]]
    return [
        "",
        *["  ".join(_cell(*cell) for cell in zip(line, widths, is_text, strict=True)).rstrip() for line in cells],
    ]


def _cell(text: str, width: int, is_text: bool) -> str:
    return text.ljust(width) if is_text else text.rjust(width)
